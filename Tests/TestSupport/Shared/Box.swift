package import LarderCore
import Synchronization

/// A value that several threads change.
package final class Box<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    /// A box of a value.
    package init(_ value: Value) {
        self.value = Mutex(value)
    }

    /// Runs a closure with exclusive access to the value.
    package func withLock<R: Sendable>(_ body: (inout Value) -> R) -> R {
        value.withLock { body(&$0) }
    }
}

// MARK: - Errors

/// The code of the error that a closure throws; nil if it throws none.
package func code<R>(_ body: () throws -> R) -> LarderError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? LarderError)?.kind ?? .unknown
    }
}

/// The code of the error that an asynchronous closure throws; nil if it throws none.
package func asyncCode<R: Sendable>(_ body: () async throws -> R) async -> LarderError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? LarderError)?.kind ?? .unknown
    }
}
