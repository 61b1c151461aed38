/// What a closure that is called for one element after the other answers.
public enum IterationStep: Hashable, Sendable {
    /// Go on with the next element.
    case `continue`
    /// End the iteration.
    case stop
}
