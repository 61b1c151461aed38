import LarderRuntime
import Synchronization

/// The locks of the clients of one process that share a store.
package final class LockTable: Sendable {
    /// The locks as one client has them.
    package final class Client: ClientLocks {
        private let table: LockTable

        fileprivate init(_ table: LockTable) {
            self.table = table
        }

        package func acquire(_ number: Int64) -> Bool {
            table.holders.withLock { holders in
                guard holders[number] == nil || holders[number] == ObjectIdentifier(self) else {
                    return false
                }
                holders[number] = ObjectIdentifier(self)
                return true
            }
        }

        package func release(_ number: Int64) {
            table.holders.withLock { holders in
                if holders[number] == ObjectIdentifier(self) { holders[number] = nil }
            }
        }

        package func isHeldByOther(_ number: Int64) -> Bool {
            table.holders.withLock { $0[number].map { $0 != ObjectIdentifier(self) } ?? false }
        }

        /// Releases everything, as the system does when a process ends.
        package func releaseAll() {
            table.holders.withLock { holders in
                holders = holders.filter { $0.value != ObjectIdentifier(self) }
            }
        }
    }

    private let holders = Mutex<[Int64: ObjectIdentifier]>([:])

    /// A table without holders.
    package init() {}

    /// The locks of a new client.
    package func client() -> Client { Client(self) }
}
