/// What a batch of pending writes does: the application's mutations, and the base of their
/// increments.
package struct BatchContents: Sendable, Equatable {
    /// Patches that are applied before the mutations whenever the batch is applied, and that are
    /// never sent; see ``Mutation/base(over:using:)``.
    package let baseMutations: [Mutation]
    /// The application's mutations, in order.
    package let mutations: [Mutation]

    /// What a batch does.
    package init(baseMutations: [Mutation] = [], mutations: [Mutation]) {
        self.baseMutations = baseMutations
        self.mutations = mutations
    }
}
