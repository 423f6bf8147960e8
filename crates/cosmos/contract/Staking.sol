// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title Staking of a network under CometBFT
/// @notice A predeployed contract at 0x0000000000000000000000000000000000000800. The node calls `begin` at the start
/// of each block and `end` at its end, as EIP-4788 and EIP-7002 have it for theirs. There is no constructor: a genesis
/// sets the code and the storage of the first validators.
/// @dev Names follow the staking module of the Cosmos SDK, whose queries are answered from this storage. What the
/// module has and this contract has not: redelegation, rewards and commission payments, jail for downtime.
contract Staking {
    /// Where a validator stands, numbered as `cosmos.staking.v1beta1.BondStatus`.
    uint8 private constant UNBONDED = 1;
    uint8 private constant UNBONDING = 2;
    uint8 private constant BONDED = 3;

    /// The caller of `begin` and `end` (EIP-4788).
    address private constant SYSTEM = 0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE;
    /// Stake for one unit of voting power, in wei; also the least self-delegation of a new validator.
    uint256 private constant POWER_REDUCTION = 1 ether;
    /// Highest power of one validator. 100 of them stay below CometBFT's bound of 2^63/8 for all together.
    uint256 private constant POWER_MAX = 1e16;
    /// Withdrawals carry gwei (EIP-4895), so stake moves in multiples of it.
    uint256 private constant GWEI = 1e9;
    /// Most withdrawals of a block, as MAX_WITHDRAWALS_PER_PAYLOAD.
    uint256 private constant WITHDRAWALS_MAX = 16;
    /// Most entries of the queue that one block looks at: cancelled ones are passed over.
    uint256 private constant QUEUE_STEPS_MAX = 64;
    /// Most unbondings of one delegator from one validator at a time, as the SDK's `max_entries`.
    uint8 private constant ENTRIES_MAX = 7;
    /// Part of the stake that misbehavior costs, in percent, as the SDK's `slash_fraction_double_sign`.
    uint256 private constant SLASH_PERCENT = 5;
    /// 100 % with the 18 decimals that the SDK's `Dec` has.
    uint256 private constant RATE_ONE = 1e18;
    /// Length of one misbehavior: kind u8, consensus address, height u64 big-endian.
    uint256 private constant MISBEHAVIOR_BYTES = 29;
    /// Key type of ed25519 in a validator update.
    uint8 private constant ED25519 = 0;
    /// Length of one validator update: key type u8, key, power u64 big-endian.
    uint256 private constant UPDATE_BYTES = 41;
    /// Most validators that the calls of one block change, so that `end` stays far below the 30,000,000 gas of a
    /// system call. It is ten times the validators with power, and costs users of one block over 100,000,000 gas.
    uint256 private constant CHANGES_MAX = 1000;
    /// A description that an edit leaves as it is, as the SDK's `DoNotModifyDesc`.
    bytes32 private constant DO_NOT_MODIFY = keccak256("[do-not-modify]");

    struct Record {
        // slot 0: the ed25519 key
        bytes32 key;
        // slot 1
        uint128 tokens;
        uint128 shares;
        // slot 2: the power that CometBFT knows; `heap` is 0 none, 1 active, 2 waiting, `place` the index there plus 1
        uint64 power;
        uint32 place;
        uint8 heap;
        bool jailed;
        bool tombstoned;
        bool changed;
        uint64 unbondingHeight;
        uint64 unbondingTime;
        // slot 3: `rate` has 18 decimals
        uint64 infractionHeight;
        uint64 slashedHeight;
        uint128 rate;
        // slot 4
        uint64 rateTime;
        // slots 5 to 9: moniker, identity, website, security contact, details
        string[5] description;
    }

    struct Stake {
        uint128 shares;
        // Indexes plus 1 in `delegated[delegator]` and `delegators[validator]`.
        uint56 placeOfDelegator;
        uint56 placeOfValidator;
        uint8 entries;
    }

    struct Entry {
        // slot 0; `initial` and `balance` in gwei
        address delegator;
        uint64 height;
        // slot 1
        address operator;
        uint64 time;
        // slot 2
        uint64 initial;
        uint64 balance;
        // Indexes plus 1 in `unbondingOfDelegator[delegator]` and `unbondingOfValidator[validator]`.
        uint64 placeOfDelegator;
        uint64 placeOfValidator;
    }

    // slot 0; the queue of unbondings by its first and one after its last
    uint64 private unbondingSeconds;
    uint32 private activeMax;
    uint64 private queueFirst;
    uint64 private queueEnd;
    // slot 1: wei delegated, and gwei in unbondings
    uint128 private totalTokens;
    uint64 private totalUnbonding;
    // slots 2 to 13, in this order
    mapping(address => Record) private records;
    mapping(address => address) private operatorByConsensus;
    address[] private operators;
    address[] private active;
    address[] private waiting;
    address[] private changed;
    mapping(address => mapping(address => Stake)) private stakes;
    mapping(address => address[]) private delegated;
    mapping(address => address[]) private delegators;
    mapping(uint64 => Entry) private queue;
    mapping(address => uint64[]) private unbondingOfDelegator;
    mapping(address => uint64[]) private unbondingOfValidator;

    event CreateValidator(address indexed validator, uint256 value);
    event EditValidator(address indexed validator);
    event Delegate(
        address indexed delegator,
        address indexed validator,
        uint256 amount,
        uint256 newShares
    );
    event Unbond(
        address indexed delegator,
        address indexed validator,
        uint256 amount,
        uint256 completionTime
    );
    event CancelUnbondingDelegation(
        address indexed delegator,
        address indexed validator,
        uint256 amount,
        uint256 creationHeight
    );
    event Unjail(address indexed validator);

    error OnlySystem();
    error BadMisbehavior(uint256 length);
    error ValidatorExists(address validator);
    error UnknownValidator(address validator);
    error KeyInUse(bytes32 key);
    error ZeroKey();
    error DescriptionTooLong(uint256 field, uint256 length, uint256 max);
    error RateTooHigh(uint256 rate);
    error RateChangedToday(uint256 nextTime);
    error SelfDelegationTooLow(uint256 value, uint256 min);
    error NotGwei(uint256 amount);
    error ZeroAmount();
    error TooMuch(uint256 amount, uint256 balance);
    error TooManyEntries(uint256 max);
    error UnknownUnbonding(address delegator, address validator, uint256 creationHeight);
    error Tombstoned(address validator);
    error NotJailed(address validator);
    error NoSelfDelegation(address validator);
    error LastValidator(address validator);
    error TooManyChanges(uint256 max);

    modifier onlySystem() {
        if (msg.sender != SYSTEM) revert OnlySystem();
        _;
    }

    // ---- Calls of the node ----

    /// Start of a block: misbehavior is punished, then matured unbondings are paid.
    /// @param time the block's timestamp in seconds
    /// @param misbehavior entries of 29 bytes: kind u8 (1 duplicate vote, 2 light client attack), consensus address,
    /// height u64 big-endian. Unknown addresses are passed over
    /// @return withdrawals at most 16 entries of 28 bytes, oldest first: account, gwei u64 big-endian
    /// @dev The second parameter is the consensus address of the proposer; rewards would need it, and there are none.
    function begin(
        uint64 time,
        address,
        bytes calldata misbehavior
    ) external onlySystem returns (bytes memory withdrawals) {
        if (misbehavior.length % MISBEHAVIOR_BYTES != 0) revert BadMisbehavior(misbehavior.length);
        for (uint256 at = 0; at < misbehavior.length; at += MISBEHAVIOR_BYTES) {
            bytes calldata entry = misbehavior[at:at + MISBEHAVIOR_BYTES];
            punish(address(bytes20(entry[1:21])), uint64(bytes8(entry[21:29])));
        }
        return mature(time);
    }

    /// End of a block.
    /// @return updates validators whose power changed, in the order of the change, 41 bytes each: key type u8 (0 is
    /// ed25519), key, power u64 big-endian; power 0 removes.
    /// CometBFT halts without validators, so an empty set is not reported: the last one goes on until there is another.
    function end() external onlySystem returns (bytes memory updates) {
        if (active.length == 0) return updates;
        address[] memory list = changed;
        delete changed;
        // One allocation for all: concatenation would copy the updates before for each one. The last word that is
        // written goes beyond its update by the part of it that the power leaves over.
        updates = new bytes(list.length * UPDATE_BYTES + 24);
        uint256 used = 0;
        for (uint256 i = 0; i < list.length; i++) {
            Record storage v = records[list[i]];
            v.changed = false;
            uint64 power = v.heap == 1 ? powerOf(v.tokens) : 0;
            if (power == v.power) continue;
            if (power == 0) {
                v.unbondingHeight = uint64(block.number);
                v.unbondingTime = uint64(block.timestamp) + unbondingSeconds;
            } else {
                v.unbondingHeight = 0;
                v.unbondingTime = 0;
            }
            v.power = power;
            bytes32 key = v.key;
            assembly ("memory-safe") {
                let at := add(add(updates, 32), used)
                mstore8(at, ED25519)
                mstore(add(at, 1), key)
                mstore(add(at, 33), shl(192, power))
            }
            used += UPDATE_BYTES;
        }
        assembly ("memory-safe") {
            mstore(updates, used)
        }
    }

    // ---- Calls of users ----

    /// Makes the caller a validator; the value is its self-delegation.
    /// @param key the ed25519 public key of its CometBFT
    /// @param description moniker, identity, website, security contact, details
    /// @param rate commission with 18 decimals; shown, never paid
    function createValidator(
        bytes32 key,
        string[5] calldata description,
        uint256 rate
    ) external payable {
        Record storage v = records[msg.sender];
        if (v.key != 0) revert ValidatorExists(msg.sender);
        if (key == 0) revert ZeroKey();
        if (msg.value < POWER_REDUCTION) revert SelfDelegationTooLow(msg.value, POWER_REDUCTION);
        if (rate > RATE_ONE) revert RateTooHigh(rate);
        address consensus = consensusAddress(key);
        if (operatorByConsensus[consensus] != address(0)) revert KeyInUse(key);
        operatorByConsensus[consensus] = msg.sender;
        v.key = key;
        v.rate = uint128(rate);
        v.rateTime = uint64(block.timestamp);
        describe(v, description);
        operators.push(msg.sender);
        emit CreateValidator(msg.sender, msg.value);
        bond(msg.sender, msg.sender, msg.value);
    }

    /// Changes description and commission of the caller's validator.
    /// @param description as in createValidator; "[do-not-modify]" leaves a field as it is
    /// @param rate 18 decimals; the highest uint256 leaves it as it is. It changes once in 24 hours
    function editValidator(string[5] calldata description, uint256 rate) external {
        Record storage v = known(msg.sender);
        describe(v, description);
        if (rate != type(uint256).max) {
            if (rate > RATE_ONE) revert RateTooHigh(rate);
            uint256 next = uint256(v.rateTime) + 1 days;
            if (block.timestamp < next) revert RateChangedToday(next);
            v.rate = uint128(rate);
            v.rateTime = uint64(block.timestamp);
        }
        emit EditValidator(msg.sender);
    }

    /// Delegates the value to a validator.
    function delegate(address operator) external payable {
        if (known(operator).tombstoned) revert Tombstoned(operator);
        bond(msg.sender, operator, msg.value);
    }

    /// Takes a delegation back: paid as a withdrawal once the unbonding time is over.
    /// @param amount wei, a multiple of 1 gwei
    function undelegate(
        address operator,
        uint256 amount
    ) external returns (uint64 completion) {
        Record storage v = known(operator);
        checkAmount(amount);
        Stake storage d = stakes[msg.sender][operator];
        uint256 worth = worthOf(v, d.shares);
        if (amount > worth) revert TooMuch(amount, worth);
        if (amount > type(uint64).max * GWEI) revert TooMuch(amount, type(uint64).max * GWEI);
        if (d.entries == ENTRIES_MAX) revert TooManyEntries(ENTRIES_MAX);
        // Rounded up, so that what is taken out is never worth more than the shares that go.
        uint256 burnt = (amount * v.shares + v.tokens - 1) / v.tokens;
        v.tokens -= uint128(amount);
        v.shares -= uint128(burnt);
        d.shares -= uint128(burnt);
        totalTokens -= uint128(amount);
        if (v.shares == 0) {
            // What rounding left has no owner.
            totalTokens -= v.tokens;
            v.tokens = 0;
        }
        if (d.shares == 0) dropDelegation(msg.sender, operator, d);
        if (msg.sender == operator && d.shares == 0) v.jailed = true;
        bool last = active.length == 1;
        settle(operator, v);
        if (last && active.length == 0) revert LastValidator(operator);
        d.entries++;
        completion = uint64(block.timestamp) + unbondingSeconds;
        push(msg.sender, operator, uint64(amount / GWEI), completion);
        emit Unbond(msg.sender, operator, amount, completion);
    }

    /// Delegates again what is in an unbonding.
    /// @param amount wei, a multiple of 1 gwei, at most what the unbonding holds
    /// @param height block of the undelegation
    function cancelUnbonding(address operator, uint256 amount, uint64 height) external {
        Record storage v = known(operator);
        checkAmount(amount);
        if (v.tombstoned) revert Tombstoned(operator);
        uint64[] storage list = unbondingOfDelegator[msg.sender];
        for (uint256 i = 0; i < list.length; i++) {
            uint64 id = list[i];
            Entry storage u = queue[id];
            if (u.operator != operator || u.height != height) continue;
            if (u.time <= block.timestamp) continue;
            if (amount > u.balance * GWEI) revert TooMuch(amount, u.balance * GWEI);
            u.balance -= uint64(amount / GWEI);
            u.initial -= uint64(amount / GWEI);
            totalUnbonding -= uint64(amount / GWEI);
            if (u.balance == 0) drop(id, u);
            emit CancelUnbondingDelegation(msg.sender, operator, amount, height);
            bond(msg.sender, operator, amount);
            return;
        }
        revert UnknownUnbonding(msg.sender, operator, height);
    }

    /// Ends the jail of the caller's validator, which it came into by taking all of its self-delegation back.
    function unjail() external {
        Record storage v = known(msg.sender);
        if (!v.jailed) revert NotJailed(msg.sender);
        if (v.tombstoned) revert Tombstoned(msg.sender);
        if (stakes[msg.sender][msg.sender].shares == 0) revert NoSelfDelegation(msg.sender);
        v.jailed = false;
        settle(msg.sender, v);
        emit Unjail(msg.sender);
    }

    // ---- Views ----

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

    /// Seconds from an undelegation to its withdrawal.
    function unbondingTime() external view returns (uint64) {
        return unbondingSeconds;
    }

    /// How many validators can have power at a time.
    function maxValidators() external view returns (uint64) {
        return activeMax;
    }

    /// Most unbondings of one delegator from one validator at a time.
    function maxEntries() external pure returns (uint64) {
        return ENTRIES_MAX;
    }

    /// Wei of validators with power; wei of the others and in unbondings.
    function pool() external view returns (uint256 bonded, uint256 notBonded) {
        for (uint256 i = 0; i < active.length; i++) bonded += records[active[i]].tokens;
        notBonded = totalTokens - bonded + totalUnbonding * GWEI;
    }

    /// The operator of a consensus address; zero where there is none.
    function operatorOf(address consensus) external view returns (address) {
        return operatorByConsensus[consensus];
    }

    /// One validator; all zero where there is none.
    function validator(address operator) external view returns (Validator memory) {
        return validatorView(operator);
    }

    /// How many validators there are.
    function validatorCount() external view returns (uint256) {
        return operators.length;
    }

    /// Validators in the order of their creation, and how many there are.
    function validators(
        uint256 from,
        uint256 n
    ) external view returns (Validator[] memory list, uint256 total) {
        total = operators.length;
        list = new Validator[](page(total, from, n));
        for (uint256 i = 0; i < list.length; i++) list[i] = validatorView(operators[from + i]);
    }

    /// One delegation; no shares where there is none.
    function delegation(
        address delegator,
        address operator
    ) external view returns (Delegation memory) {
        return delegationView(delegator, operator);
    }

    /// Delegations of a delegator, and how many there are.
    function delegationsOf(
        address delegator,
        uint256 from,
        uint256 n
    ) external view returns (Delegation[] memory list, uint256 total) {
        address[] storage all = delegated[delegator];
        total = all.length;
        list = new Delegation[](page(total, from, n));
        for (uint256 i = 0; i < list.length; i++) list[i] = delegationView(delegator, all[from + i]);
    }

    /// Delegations to a validator, and how many there are.
    function delegationsTo(
        address operator,
        uint256 from,
        uint256 n
    ) external view returns (Delegation[] memory list, uint256 total) {
        address[] storage all = delegators[operator];
        total = all.length;
        list = new Delegation[](page(total, from, n));
        for (uint256 i = 0; i < list.length; i++) list[i] = delegationView(all[from + i], operator);
    }

    /// Unbondings of a delegator, and how many there are.
    function unbondingsOf(
        address delegator,
        uint256 from,
        uint256 n
    ) external view returns (Unbonding[] memory list, uint256 total) {
        uint64[] storage all = unbondingOfDelegator[delegator];
        total = all.length;
        list = new Unbonding[](page(total, from, n));
        for (uint256 i = 0; i < list.length; i++) list[i] = unbondingView(all[from + i]);
    }

    /// Unbondings from a validator, and how many there are.
    function unbondingsFrom(
        address operator,
        uint256 from,
        uint256 n
    ) external view returns (Unbonding[] memory list, uint256 total) {
        uint64[] storage all = unbondingOfValidator[operator];
        total = all.length;
        list = new Unbonding[](page(total, from, n));
        for (uint256 i = 0; i < list.length; i++) list[i] = unbondingView(all[from + i]);
    }

    // ---- Stake ----

    function known(address operator) private view returns (Record storage v) {
        v = records[operator];
        if (v.key == 0) revert UnknownValidator(operator);
    }

    function checkAmount(uint256 amount) private pure {
        if (amount == 0) revert ZeroAmount();
        if (amount % GWEI != 0) revert NotGwei(amount);
    }

    /// Gives a delegator shares for an amount that the contract holds already.
    function bond(address delegator, address operator, uint256 amount) private {
        checkAmount(amount);
        Record storage v = records[operator];
        // After a slash a token is worth more than one share.
        uint256 shares = v.shares == 0 ? amount : (amount * v.shares) / v.tokens;
        Stake storage d = stakes[delegator][operator];
        if (d.shares == 0) {
            delegated[delegator].push(operator);
            delegators[operator].push(delegator);
            d.placeOfDelegator = uint56(delegated[delegator].length);
            d.placeOfValidator = uint56(delegators[operator].length);
        }
        d.shares += to128(shares);
        v.shares += to128(shares);
        v.tokens += to128(amount);
        totalTokens += to128(amount);
        settle(operator, v);
        emit Delegate(delegator, operator, amount, shares);
    }

    function to128(uint256 value) private pure returns (uint128) {
        if (value > type(uint128).max) revert TooMuch(value, type(uint128).max);
        return uint128(value);
    }

    function worthOf(Record storage v, uint256 shares) private view returns (uint256) {
        return v.shares == 0 ? 0 : (shares * v.tokens) / v.shares;
    }

    function dropDelegation(address delegator, address operator, Stake storage d) private {
        address[] storage list = delegated[delegator];
        address moved = list[list.length - 1];
        list[d.placeOfDelegator - 1] = moved;
        stakes[delegator][moved].placeOfDelegator = d.placeOfDelegator;
        list.pop();
        list = delegators[operator];
        moved = list[list.length - 1];
        list[d.placeOfValidator - 1] = moved;
        stakes[moved][operator].placeOfValidator = d.placeOfValidator;
        list.pop();
        d.placeOfDelegator = 0;
        d.placeOfValidator = 0;
    }

    function describe(Record storage v, string[5] calldata description) private {
        // The SDK's bounds, in bytes.
        uint16[5] memory max = [70, 3000, 140, 140, 280];
        for (uint256 i = 0; i < 5; i++) {
            uint256 length = bytes(description[i]).length;
            if (length > max[i]) revert DescriptionTooLong(i, length, max[i]);
            if (keccak256(bytes(description[i])) == DO_NOT_MODIFY) continue;
            v.description[i] = description[i];
        }
    }

    // ---- Misbehavior and unbondings ----

    /// 5 % of the stake goes and the validator never has power again. Unbondings are reduced when they are paid.
    function punish(address consensus, uint64 height) private {
        address operator = operatorByConsensus[consensus];
        if (operator == address(0)) return;
        Record storage v = records[operator];
        if (v.tombstoned) return;
        uint128 loss = uint128((v.tokens * SLASH_PERCENT) / 100);
        v.tokens -= loss;
        totalTokens -= loss;
        v.jailed = true;
        v.tombstoned = true;
        v.infractionHeight = height;
        v.slashedHeight = uint64(block.number);
        settle(operator, v);
    }

    /// What is left of an unbonding in gwei: one that began between a misbehavior and its punishment is slashed too.
    function remains(Entry storage u) private view returns (uint64) {
        Record storage v = records[u.operator];
        if (!v.tombstoned || u.height < v.infractionHeight || u.height >= v.slashedHeight)
            return u.balance;
        return uint64((uint256(u.balance) * (100 - SLASH_PERCENT)) / 100);
    }

    function mature(uint64 time) private returns (bytes memory withdrawals) {
        uint256 paid = 0;
        uint64 id = queueFirst;
        uint64 last = queueEnd;
        for (uint256 step = 0; step < QUEUE_STEPS_MAX && id < last && paid < WITHDRAWALS_MAX; step++) {
            Entry storage u = queue[id];
            if (u.time > time) break;
            if (u.balance > 0) {
                uint64 amount = remains(u);
                if (amount > 0) {
                    withdrawals = bytes.concat(withdrawals, abi.encodePacked(u.delegator, amount));
                    paid++;
                }
                totalUnbonding -= u.balance;
                drop(id, u);
            }
            id++;
        }
        queueFirst = id;
    }

    function push(address delegator, address operator, uint64 amount, uint64 time) private {
        uint64 id = queueEnd++;
        unbondingOfDelegator[delegator].push(id);
        unbondingOfValidator[operator].push(id);
        totalUnbonding += amount;
        queue[id] = Entry({
            delegator: delegator,
            height: uint64(block.number),
            operator: operator,
            time: time,
            initial: amount,
            balance: amount,
            placeOfDelegator: uint64(unbondingOfDelegator[delegator].length),
            placeOfValidator: uint64(unbondingOfValidator[operator].length)
        });
    }

    /// Takes an unbonding out of the lists. Its place in the queue stays and is passed over.
    function drop(uint64 id, Entry storage u) private {
        uint64[] storage list = unbondingOfDelegator[u.delegator];
        uint64 moved = list[list.length - 1];
        list[u.placeOfDelegator - 1] = moved;
        queue[moved].placeOfDelegator = u.placeOfDelegator;
        list.pop();
        list = unbondingOfValidator[u.operator];
        moved = list[list.length - 1];
        list[u.placeOfValidator - 1] = moved;
        queue[moved].placeOfValidator = u.placeOfValidator;
        list.pop();
        stakes[u.delegator][u.operator].entries--;
        delete queue[id];
    }

    // ---- The validators with the most stake: a heap of those with power, its worst first, and one of the others,
    // its best first, so that a change costs the logarithm of their number ----

    /// Puts a validator where its stake belongs now.
    function settle(address operator, Record storage v) private {
        bool eligible = !v.jailed && v.tokens >= POWER_REDUCTION;
        if (v.heap == 1) note(operator, v);
        if (v.heap != 0 && !eligible) remove(v);
        else if (v.heap != 0) sift(v.heap, v.place - 1);
        else if (eligible) insert(2, operator);
        while (waiting.length > 0 && active.length < activeMax) promote();
        while (waiting.length > 0 && better(waiting[0], active[0])) {
            address worst = active[0];
            remove(records[worst]);
            note(worst, records[worst]);
            promote();
            insert(2, worst);
        }
    }

    function promote() private {
        address best = waiting[0];
        Record storage v = records[best];
        remove(v);
        insert(1, best);
        note(best, v);
    }

    /// Remembers that the power of a validator may be another one at the end of the block.
    function note(address operator, Record storage v) private {
        if (v.changed) return;
        if (changed.length == CHANGES_MAX) revert TooManyChanges(CHANGES_MAX);
        v.changed = true;
        changed.push(operator);
    }

    /// More stake is better; of equal stakes, the lower address.
    function better(address a, address b) private view returns (bool) {
        uint128 left = records[a].tokens;
        uint128 right = records[b].tokens;
        return left != right ? left > right : a < b;
    }

    function heapOf(uint8 which) private view returns (address[] storage) {
        return which == 1 ? active : waiting;
    }

    /// Whether `a` belongs nearer to the top of a heap than `b`.
    function above(uint8 which, address a, address b) private view returns (bool) {
        return which == 1 ? better(b, a) : better(a, b);
    }

    function set(address[] storage heap, uint256 at, address operator) private {
        heap[at] = operator;
        records[operator].place = uint32(at + 1);
    }

    function insert(uint8 which, address operator) private {
        address[] storage heap = heapOf(which);
        heap.push(operator);
        records[operator].heap = which;
        records[operator].place = uint32(heap.length);
        sift(which, heap.length - 1);
    }

    function remove(Record storage v) private {
        uint8 which = v.heap;
        address[] storage heap = heapOf(which);
        uint256 at = v.place - 1;
        address last = heap[heap.length - 1];
        heap.pop();
        v.heap = 0;
        v.place = 0;
        if (at < heap.length) {
            set(heap, at, last);
            sift(which, at);
        }
    }

    /// Moves an entry up or down until the heap is in order again.
    function sift(uint8 which, uint256 at) private {
        address[] storage heap = heapOf(which);
        address moving = heap[at];
        uint256 start = at;
        while (at > 0 && above(which, moving, heap[(at - 1) / 2])) {
            set(heap, at, heap[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        if (at == start) {
            for (uint256 child = 2 * at + 1; child < heap.length; child = 2 * at + 1) {
                if (child + 1 < heap.length && above(which, heap[child + 1], heap[child])) child++;
                if (!above(which, heap[child], moving)) break;
                set(heap, at, heap[child]);
                at = child;
            }
        }
        set(heap, at, moving);
    }

    // ---- Views, inside ----

    function consensusAddress(bytes32 key) private pure returns (address) {
        return address(bytes20(sha256(abi.encodePacked(key))));
    }

    function powerOf(uint256 tokens) private pure returns (uint64) {
        uint256 power = tokens / POWER_REDUCTION;
        return uint64(power < POWER_MAX ? power : POWER_MAX);
    }

    function page(uint256 total, uint256 from, uint256 n) private pure returns (uint256) {
        uint256 left = from < total ? total - from : 0;
        return n < left ? n : left;
    }

    function validatorView(address operator) private view returns (Validator memory out) {
        Record storage v = records[operator];
        if (v.key == 0) return out;
        out.operator = operator;
        out.key = v.key;
        out.jailed = v.jailed;
        out.status = v.power > 0 ? BONDED : v.unbondingTime > block.timestamp ? UNBONDING : UNBONDED;
        out.tokens = v.tokens;
        out.shares = v.shares;
        out.description = v.description;
        out.unbondingHeight = v.unbondingHeight;
        out.unbondingTime = v.unbondingTime;
        out.rate = v.rate;
        out.updateTime = v.rateTime;
        out.minSelfDelegation = 1;
        out.consensus = consensusAddress(v.key);
        out.power = v.power;
        out.tombstoned = v.tombstoned;
    }

    function delegationView(
        address delegator,
        address operator
    ) private view returns (Delegation memory) {
        uint256 shares = stakes[delegator][operator].shares;
        return Delegation(delegator, operator, shares, worthOf(records[operator], shares));
    }

    function unbondingView(uint64 id) private view returns (Unbonding memory out) {
        Entry storage u = queue[id];
        out.id = id;
        out.delegator = u.delegator;
        out.operator = u.operator;
        out.height = u.height;
        out.completion = u.time;
        out.initial = u.initial * GWEI;
        out.amount = remains(u) * GWEI;
    }
}
