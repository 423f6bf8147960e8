// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import "hardhat/console.sol";

/// Counts, and fails in every way that a contract can.
contract Counter {
    uint256 public count;
    address public immutable owner;

    event Counted(address indexed by, uint256 count);

    error TooMuch(uint256 asked, uint256 most);

    constructor(uint256 first) payable {
        count = first;
        owner = msg.sender;
    }

    function add(uint256 by) external returns (uint256) {
        if (by > 100) revert TooMuch(by, 100);
        require(by != 0, "nothing to add");
        count += by;
        console.log("count is %s", count);
        emit Counted(msg.sender, count);
        return count;
    }

    function divide(uint256 by) external view returns (uint256) {
        return count / by;
    }

    function random() external view returns (uint256) {
        return block.prevrandao;
    }
}
