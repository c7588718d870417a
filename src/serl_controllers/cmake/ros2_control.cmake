# The controller as a plugin of ros2_control, where all that it needs is found; nothing otherwise.
set(missing)
foreach(package
    controller_interface hardware_interface pluginlib rclcpp_lifecycle realtime_tools
    generate_parameter_library pinocchio serl_interfaces std_msgs std_srvs)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND missing ${package})
  endif()
endforeach()
if(missing)
  list(JOIN missing ", " missing)
  message(NOTICE "serl_controllers: the ros2_control plugin is skipped, not found: ${missing}")
  return()
endif()

# The model of the arm: neither ROS nor MuJoCo.
add_library(pinocchio_model STATIC src/pinocchio_model.cpp)
target_link_libraries(pinocchio_model PUBLIC law PRIVATE pinocchio::pinocchio)
target_compile_options(pinocchio_model PRIVATE -Wall -Wextra)

generate_parameter_library(
  cartesian_impedance_controller_parameters plugin/parameters.yaml plugin/axes_at_most.hpp)

add_library(cartesian_impedance_controller SHARED
  plugin/cartesian_impedance_controller.cpp
  plugin/command_input.cpp
  plugin/joint_input.cpp
  plugin/joint_interfaces.cpp
  plugin/law_parameters_from_node.cpp
  plugin/state_output.cpp)
target_link_libraries(cartesian_impedance_controller PRIVATE
  cartesian_impedance_controller_parameters
  law
  pinocchio_model
  controller_interface::controller_interface
  pluginlib::pluginlib
  rclcpp_lifecycle::rclcpp_lifecycle
  realtime_tools::realtime_tools
  ${serl_interfaces_TARGETS}
  ${std_msgs_TARGETS}
  ${std_srvs_TARGETS})

# Hardware that is none: MuJoCo, for trying a robot's configuration without the robot.
add_library(mujoco_system SHARED plugin/mujoco_system.cpp)
target_link_libraries(mujoco_system PRIVATE
  mujoco hardware_interface::hardware_interface pluginlib::pluginlib)
set_target_properties(mujoco_system PROPERTIES INSTALL_RPATH ${mujoco_folder})

foreach(plugin cartesian_impedance_controller mujoco_system)
  target_compile_options(${plugin} PRIVATE -Wall -Wextra)
endforeach()
install(TARGETS cartesian_impedance_controller mujoco_system LIBRARY DESTINATION lib)
pluginlib_export_plugin_description_file(controller_interface controller_plugin.xml)
pluginlib_export_plugin_description_file(hardware_interface hardware_plugin.xml)

# The controller with numbers for interfaces: for the benchmark and the tests of its loop.
add_library(plugin_bench INTERFACE)
target_include_directories(plugin_bench INTERFACE plugin benchmark)
target_link_libraries(plugin_bench INTERFACE
  cartesian_impedance_controller cartesian_impedance_controller_parameters law allocation_counter
  controller_interface::controller_interface rclcpp_lifecycle::rclcpp_lifecycle
  realtime_tools::realtime_tools ${serl_interfaces_TARGETS} ${std_msgs_TARGETS}
  ${std_srvs_TARGETS})
add_executable(plugin_benchmark benchmark/plugin_benchmark.cpp)
target_link_libraries(plugin_benchmark plugin_bench)
target_compile_options(plugin_benchmark PRIVATE -Wall -Wextra)
install(TARGETS plugin_benchmark DESTINATION lib/${PROJECT_NAME})

if(BUILD_TESTING)
  find_package(ament_cmake_gtest REQUIRED)
  find_package(ament_cmake_pytest REQUIRED)
  find_python_package(franky_sim franky_sim_folder)
  ament_add_gtest(test_pinocchio_model test/unit/test_pinocchio_model.cpp)
  target_link_libraries(test_pinocchio_model pinocchio_model mujoco allocation_counter)
  ament_add_gtest(test_plugin test/plugin/test_plugin.cpp)
  target_link_libraries(test_plugin plugin_bench)
  ament_add_gtest(test_step_response test/plugin/test_step_response.cpp
    binding/mujoco_arm.cpp binding/simulated_arm.cpp binding/tool_wrench.cpp)
  target_include_directories(test_step_response PRIVATE binding)
  target_link_libraries(test_step_response plugin_bench mujoco)
  foreach(test test_pinocchio_model test_plugin test_step_response)
    target_compile_options(${test} PRIVATE -Wall -Wextra)
    target_compile_definitions(${test} PRIVATE
      FR3_URDF="${franky_sim_folder}/assets/fr3_clean.urdf")
  endforeach()
  find_package(controller_manager QUIET)
  if(controller_manager_FOUND)
    ament_add_pytest_test(plugin test/plugin TIMEOUT 600)
  endif()
endif()
