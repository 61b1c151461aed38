package import LarderCore

/// Closures that receive each new value, called in the order in which they were added.
package struct Observers<Value> {
    /// Tells observers apart; rises with each.
    package typealias ID = UInt64

    private var deliver: [ID: @Sendable (Value) -> Void] = [:]

    /// No observers.
    package init() {}

    package var isEmpty: Bool { deliver.isEmpty }

    package mutating func add(_ id: ID, _ body: @escaping @Sendable (Value) -> Void) {
        deliver[id] = body
    }

    package mutating func remove(_ id: ID) {
        deliver[id] = nil
    }

    /// Delivers a value to all.
    package func send(_ value: Value) {
        for deliver in deliver.valuesInOrder { deliver(value) }
    }
}

/// Observers of a list in the store, which is read once for all of them after a change.
package struct ListObservers<Element: Sendable> {
    /// Receives the list.
    package typealias Deliver = @Sendable (Result<[Element], LarderError>) -> Void

    private var observers = Observers<Result<[Element], LarderError>>()
    private var hasChanged = false

    /// No observers.
    package init() {}

    /// Adds an observer and delivers the current list to it.
    package mutating func add(
        _ id: UInt64, _ deliver: @escaping Deliver, _ list: () throws(LarderError) -> [Element]
    ) {
        observers.add(id, deliver)
        deliver(Result(catching: list))
    }

    package mutating func remove(_ id: UInt64) {
        observers.remove(id)
    }

    /// Makes the next ``sendChange(_:)`` deliver the list.
    package mutating func noteChange() {
        hasChanged = true
    }

    /// Delivers the list, if it has changed.
    package mutating func sendChange(_ list: () throws(LarderError) -> [Element]) {
        guard hasChanged else { return }
        hasChanged = false
        if !observers.isEmpty { observers.send(Result(catching: list)) }
    }
}

extension Dictionary where Key: Comparable {
    /// The values in the order of their keys, so that what is done with them is deterministic.
    package var valuesInOrder: [Value] {
        count < 2 ? Array(values) : keys.sorted().compactMap { self[$0] }
    }
}
