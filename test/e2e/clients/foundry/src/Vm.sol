// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// The cheatcodes that the script and the tests here use.
interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
    function envAddress(string calldata name) external view returns (address);
    function envUint(string calldata name) external view returns (uint256);
    function prank(address sender) external;
    function rollFork(uint256 number) external;
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
