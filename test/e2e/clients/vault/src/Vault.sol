// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// Größe, Zähler: places of source maps count bytes.
library Shares {
    function half(uint256 x) public pure returns (uint256) {
        return x / 2;
    }
}

contract Vault {
    struct Account {
        uint128 shares;
        uint64 since;
        bool open;
    }

    error TooBig(uint256 asked, string why);

    event Put(address indexed who, uint256 amount);

    address public immutable owner;
    mapping(address => mapping(uint256 => Account)) internal accounts;
    uint256[] public history;
    string public label;
    uint64 public low;
    uint64 public high;

    constructor(uint256 most) {
        require(most > 0, "a vault for nothing");
        owner = msg.sender;
        label = "the vault";
    }

    function put(uint256 amount) external {
        if (amount > 1000) {
            revert TooBig(amount, "more than the vault takes");
        }
        accounts[msg.sender][7].shares += uint128(Shares.half(amount));
        history.push(amount);
        low = uint64(amount);
        high += 1;
        emit Put(msg.sender, amount);
    }
}

contract Left {
    uint256 public count;

    function add() external {
        count += 1;
    }
}

contract Right {
    uint256 public count;

    function add() external {
        count += 1;
    }
}
