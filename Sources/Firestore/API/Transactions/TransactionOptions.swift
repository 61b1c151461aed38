/// How a transaction is run.
public final class TransactionOptions {
    /// How often the closure is run at most before the transaction fails with the error of the last
    /// attempt; 5, and at least 1: otherwise the transaction fails with `invalidArgument`.
    public var maxAttempts = 5

    /// The defaults.
    public init() {}
}
