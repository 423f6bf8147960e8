//! The staking contract: its interface, and the system calls around the transactions of a block.

use alloy_primitives::U256;
use alloy_primitives::{Address, address};

/// Where the contract is.
pub const ADDRESS: Address = address!("0x0000000000000000000000000000000000000800");

alloy_sol_types::sol! {
    /// The contract at [`ADDRESS`].
    #[derive(Debug, Default, PartialEq, Eq)]
    interface Staking {
        struct Validator {
            address operator;
            bytes32 key;
            bool jailed;
            uint8 status;
            uint256 tokens;
            uint256 shares;
            string[5] description;
            uint64 unbondingHeight;
            uint64 unbondingTime;
            uint256 rate;
            uint64 updateTime;
            uint256 minSelfDelegation;
            address consensus;
            uint64 power;
            bool tombstoned;
        }
        struct Delegation {
            address delegator;
            address operator;
            uint256 shares;
            uint256 tokens;
        }
        struct Unbonding {
            uint256 id;
            address delegator;
            address operator;
            uint64 height;
            uint64 completion;
            uint256 initial;
            uint256 amount;
        }
        function begin(uint64 time, address proposer, bytes misbehavior) external returns (bytes withdrawals);
        function end() external returns (bytes updates);
        function operatorOf(address consensus) external view returns (address);
        function validator(address operator) external view returns (Validator);
        function validators(uint256 from, uint256 n) external view returns (Validator[] list, uint256 total);
        function validatorCount() external view returns (uint256);
        function delegation(address delegator, address operator) external view returns (Delegation);
        function delegationsOf(address delegator, uint256 from, uint256 n) external view returns (Delegation[] list, uint256 total);
        function delegationsTo(address operator, uint256 from, uint256 n) external view returns (Delegation[] list, uint256 total);
        function unbondingsOf(address delegator, uint256 from, uint256 n) external view returns (Unbonding[] list, uint256 total);
        function unbondingsFrom(address operator, uint256 from, uint256 n) external view returns (Unbonding[] list, uint256 total);
        function pool() external view returns (uint256 bonded, uint256 notBonded);
        function unbondingTime() external view returns (uint64);
        function maxValidators() external view returns (uint64);
        function maxEntries() external view returns (uint64);
        function createValidator(bytes32 key, string[5] description, uint256 rate) external payable;
        function editValidator(string[5] description, uint256 rate) external;
        function delegate(address operator) external payable;
        function undelegate(address operator, uint256 amount) external returns (uint64 completion);
        function cancelUnbonding(address operator, uint256 amount, uint64 height) external;
        function unjail() external;
    }
}

/// A number of 18 decimals as the SDK writes it in JSON.
pub(crate) fn dec(atoms: &U256) -> String {
    let one = U256::from(10u64.pow(18));
    let (whole, rest) = atoms.div_rem(one);
    format!("{whole}.{rest:0>18}")
}

/// The second word of an event's data.
pub(crate) fn second_word(data: &[u8]) -> U256 {
    data.get(32..64).map(U256::from_be_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_18_places() {
        assert_eq!(dec(&U256::from(5)), "0.000000000000000005");
        assert_eq!(dec(&U256::from(10u64.pow(18))), "1.000000000000000000");
        assert_eq!(dec(&(U256::from(25) * U256::from(10u64.pow(17)))), "2.500000000000000000");
    }
}
