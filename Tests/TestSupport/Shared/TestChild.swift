import Foundation

/// A program of the tests that runs beside them, and that they may kill.
package final class TestChild {
    private let process: pid_t
    /// A socket that is the program's standard input and output.
    private let socket: Int32
    private var text: [UInt8] = []
    private var status: Int32?

    /// Starts a program of this package.
    package init(_ name: String, _ arguments: [String]) throws {
        let path =
            Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent(name).path
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        defer { close(ends[1]) }
        socket = ends[0]
        do {
            process = try spawn(path ?? name, arguments) { actions in
                posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
                posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
            }
        } catch {
            close(ends[0])
            throw error
        }
    }

    deinit {
        kill()
        close(socket)
    }

    /// The whole lines that were read.
    package var lines: [String] {
        let end = text.lastIndex(of: UInt8(ascii: "\n")) ?? 0
        return text[..<end].split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Reads what it prints next.
    ///
    /// - Returns: false if it has ended.
    package func read() -> Bool {
        var part = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(socket, &part, part.count, 0)
        // Its end resets the connection if it has not read all of its input.
        guard count > 0 else { return count < 0 && errno == EINTR }
        text += part[..<count]
        return true
    }

    /// Writes to its standard input.
    package func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Ends it in the middle of whatever it does, unless it has ended, and reads what it had printed.
    ///
    /// - Returns: as ``finish()``.
    @discardableResult
    package func kill() -> Int32 {
        if status == nil { Foundation.kill(process, SIGKILL) }
        return finish()
    }

    /// Reads the rest of what it prints, and waits for its end.
    ///
    /// - Returns: its exit status, or 128 and the number of the signal that ended it.
    @discardableResult
    package func finish() -> Int32 {
        while read() {}
        let status = status ?? waitForEnd(of: process)
        self.status = status
        return status
    }
}
