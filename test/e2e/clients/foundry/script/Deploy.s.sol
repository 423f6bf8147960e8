// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Payer, Token} from "../src/Token.sol";
import {vm} from "../src/Vm.sol";

contract Deploy {
    function run() external returns (Token token, Payer payer) {
        vm.startBroadcast();
        token = new Token(1_000_000);
        payer = new Payer{salt: bytes32(uint256(1))}(token);
        token.transfer(address(payer), 1_000);
        address[] memory all = new address[](3);
        for (uint160 i = 0; i < 3; i++) all[i] = address(0xf0000 + i);
        payer.pay(all, 7);
        vm.stopBroadcast();
    }
}
