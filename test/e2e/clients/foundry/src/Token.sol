// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

contract Token {
    mapping(address => uint256) public balanceOf;
    uint256 public totalSupply;

    event Transfer(address indexed from, address indexed to, uint256 value);

    error Insufficient(uint256 has, uint256 wants);

    constructor(uint256 supply) {
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        uint256 has = balanceOf[msg.sender];
        if (has < value) revert Insufficient(has, value);
        require(to != address(0), "to nobody");
        balanceOf[msg.sender] = has - value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Calls on, so that a trace has depth.
contract Payer {
    Token public immutable token;

    constructor(Token paid) {
        token = paid;
    }

    function pay(address[] calldata all, uint256 each) external {
        for (uint256 i = 0; i < all.length; i++) token.transfer(all[i], each);
    }
}
