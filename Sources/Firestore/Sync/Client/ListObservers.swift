import LarderModel

/// Who hears of a list in the store, now and after each change of it.
struct ListObservers<Element: Sendable> {
    typealias Deliver = @Sendable (Result<[Element], LarderError>) -> Void

    private var observers: [Engine.ID: Deliver] = [:]
    private var hasChanged = false

    /// Adds an observer, and tells it what the list is.
    mutating func add(
        _ id: Engine.ID, _ deliver: @escaping Deliver,
        _ list: () throws(LarderError) -> [Element]
    ) {
        observers[id] = deliver
        deliver(Result(catching: list))
    }

    /// Tells an observer nothing any more.
    mutating func remove(_ id: Engine.ID) {
        observers[id] = nil
    }

    /// Tells nobody anything any more.
    mutating func removeAll() {
        observers = [:]
    }

    /// Notes that the list has changed.
    mutating func noteChange() {
        hasChanged = true
    }

    /// Tells everybody what the list is, if it has changed.
    mutating func tell(_ list: () throws(LarderError) -> [Element]) {
        guard hasChanged else { return }
        hasChanged = false
        guard !observers.isEmpty else { return }
        let list = Result(catching: list)
        for deliver in observers.valuesInOrder { deliver(list) }
    }
}
