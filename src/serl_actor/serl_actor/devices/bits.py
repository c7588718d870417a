"""Bits of what a device says."""

from __future__ import annotations


def set_bits(data: bytes | bytearray) -> list[int]:
    """Numbers of the bits that are set; 0 is the lowest of the first byte."""
    bits = int.from_bytes(data, "little")
    return [number for number in range(8 * len(data)) if bits >> number & 1]
