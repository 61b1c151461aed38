/// The answer of a closure that is called for each element in turn.
public enum IterationStep: Hashable, Sendable {
    /// Continue with the next element.
    case `continue`
    /// End the iteration.
    case stop
}
