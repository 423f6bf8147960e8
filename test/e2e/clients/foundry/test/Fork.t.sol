// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Token} from "../src/Token.sol";
import {vm} from "../src/Vm.sol";

/// Runs on the state of the node that `--fork-url` names.
contract ForkTest {
    Token token;
    address payer;

    function setUp() public {
        token = Token(vm.envAddress("TOKEN"));
        payer = vm.envAddress("PAYER");
    }

    function test_reads_what_was_deployed() public view {
        require(token.totalSupply() == 1_000_000, "supply");
        require(token.balanceOf(payer) == 979, "payer");
        require(token.balanceOf(address(0xf0002)) == 7, "paid");
        require(block.chainid == 31337, "chain");
    }

    function test_moves_on_in_its_own_copy() public {
        vm.prank(payer);
        token.transfer(address(0xf0009), 79);
        require(token.balanceOf(payer) == 900, "payer");
        require(token.balanceOf(address(0xf0009)) == 79, "paid");
    }

    function test_reads_the_past() public {
        vm.rollFork(vm.envUint("BEFORE"));
        require(address(token).code.length == 0, "there was nothing yet");
    }

    function test_sees_errors() public {
        vm.prank(payer);
        try token.transfer(address(1), 5_000) {
            revert("went through");
        } catch (bytes memory reason) {
            require(keccak256(reason) == keccak256(abi.encodeWithSelector(Token.Insufficient.selector, 979, 5_000)), "another reason");
        }
    }
}
