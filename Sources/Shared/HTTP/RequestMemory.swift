import DequeModule
package import LarderCore

/// The memory of a call's requests, from the arrival of their bytes until they are served; confined
/// to one event loop.
///
/// The request of a unary call is released at its end; in a stream each response releases the oldest
/// request.
package struct RequestMemory {
    /// The size of a request that is decoded and served, as a multiple of its encoded size.
    private static let servedFactor = 4
    /// The encoded size above which a request needs admission.
    private static let smallBytes = 64 << 10
    /// The change from which the account is charged: smaller calls leave it alone.
    private static let step = 4 << 10

    private let account: MemoryAccount
    private let admission: RequestAdmission
    /// The bytes of all requests.
    package private(set) var bytes = 0
    private var chargedBytes = 0
    /// The sizes of the requests that are complete and have no response yet.
    private var unanswered: Deque<Int> = []

    /// - Parameters:
    ///   - account: that of the call.
    ///   - admission: admits large requests.
    package init(_ account: MemoryAccount, _ admission: RequestAdmission) {
        self.account = account
        self.admission = admission
    }

    /// The size in memory of a decoded request of a number of bytes.
    package static func servedBytes(_ count: Int) -> Int { count * servedFactor }

    /// The bytes of a request that need admission before it is complete; nil for a small one.
    package static func admissionBytes(_ count: Int) -> Int? {
        count > smallBytes ? servedBytes(count) : nil
    }

    /// Adds received bytes.
    package mutating func receive(_ count: Int) {
        bytes += count
        settle()
    }

    /// Notes that a request of a number of received bytes is complete, and admitted if it is large.
    package mutating func complete(_ count: Int) {
        unanswered.append(Self.servedBytes(count))
        bytes += count * (Self.servedFactor - 1)
        settle()
    }

    /// Releases the oldest requests.
    package mutating func answer(_ count: Int) {
        for _ in 0..<min(count, unanswered.count) {
            let size = unanswered.removeFirst()
            bytes -= size
            dismiss(size)
        }
        settle()
    }

    private func dismiss(_ size: Int) {
        if size > Self.smallBytes * Self.servedFactor { admission.release(size) }
    }

    /// Releases all requests.
    package mutating func releaseAll() {
        for size in unanswered { dismiss(size) }
        (bytes, unanswered) = (0, [])
        settle()
    }

    private mutating func settle() {
        let change = bytes - chargedBytes
        guard abs(change) >= Self.step || bytes == 0, change != 0 else { return }
        chargedBytes = bytes
        account.change(by: change)
    }
}
