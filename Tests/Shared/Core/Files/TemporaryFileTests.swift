import Foundation
import LarderSharedTestSupport
import Testing

@testable import LarderCore

@Suite("Temporary files")
struct TemporaryFileTests {
    private func bytes(_ file: TemporaryFile) throws -> [UInt8] {
        try file.withText { (text) throws(LarderError) in
            _ = try text.readAll()
            return Array(text.bytes)
        }
    }

    private func append(_ bytes: [UInt8], to file: TemporaryFile) throws {
        try bytes.withUnsafeBytes { try file.append($0) }
    }

    @Test("a file has what was appended, in parts cut at any byte, and no name")
    func parts() throws {
        let directory = try TemporaryDirectory()
        let text = Array(#"{"a":"é","b":[1,2.5,null]}"#.utf8)
        for cut in 0...text.count {
            let file = try TemporaryFile(in: directory.path)
            try append(Array(text[..<cut]), to: file)
            try append(Array(text[cut...]), to: file)
            #expect(try bytes(file) == text && file.count == text.count)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }

    @Test("a part of the text is in memory, before and behind the reader, until all of it is read")
    func window() throws {
        let directory = try TemporaryDirectory()
        let file = try TemporaryFile(in: directory.path)
        let block = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) | 1 }
        for _ in 0..<9 { try append(block, to: file) }
        try file.withText { (text) throws(LarderError) in
            func isPresent(_ block: Int) -> Bool {
                text.bytes[(block << 20)..<(block + 1) << 20].allSatisfy { $0 != 0 }
            }
            #expect((0..<9).map { isPresent($0) } == (0..<9).map { $0 < 2 })
            for offset in stride(from: 0, through: 5 << 20, by: 1000) { try text.passed(offset) }
            #expect((0..<9).map { isPresent($0) } == (0..<9).map { $0 >= 4 && $0 < 7 })
            // What is in memory cannot be the reason for a failure.
            #expect(try !text.readAll(ifNeededAt: 7 << 20 - 1000))
            #expect(try text.readAll(ifNeededAt: 7 << 20 - 5))
            try text.passed(8 << 20)
            #expect((0..<9).allSatisfy { isPresent($0) })
            #expect(try !text.readAll(ifNeededAt: 9 << 20))
            #expect(try !text.readAll())
            #expect((0..<9).allSatisfy { Array(text.bytes[($0 << 20)..<($0 + 1) << 20]) == block })
        }
    }

    @Test("what is passed by at once is skipped, and small files are in memory as a whole")
    func skipping() throws {
        let directory = try TemporaryDirectory()
        let file = try TemporaryFile(in: directory.path)
        for number in 1...6 {
            try append(Array(repeating: UInt8(number), count: 1 << 20), to: file)
        }
        try file.withText { (text) throws(LarderError) in
            try text.passed(file.count)
            #expect(text.bytes[file.count - 1] == 6)
        }
        let small = try TemporaryFile(in: directory.path)
        try append(Array("{}".utf8), to: small)
        try small.withText { (text) throws(LarderError) in #expect(try !text.readAll()) }
    }

    @Test("a copy has the bytes of its file; what cannot be read or created is an error")
    func copies() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("a")
        let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 >> 8) })
        try data.write(to: URL(fileURLWithPath: path))
        #expect(try bytes(TemporaryFile(copying: path, in: directory.path)) == Array(data))
        let none = directory.file("none")
        #expect(throws: LarderError.self) {
            try TemporaryFile(copying: none, in: directory.path)
        }
        #expect(throws: LarderError.self) { try TemporaryFile(copying: directory.path, in: none) }
        #expect(throws: LarderError.self) { try TemporaryFile(in: none) }
        #expect(try bytes(TemporaryFile(in: directory.path)).isEmpty)
    }

    @Test("signals do not end a copy")
    func signals() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        var (action, former) = (sigaction(), sigaction())
        // Without SA_RESTART, a read that waits fails with EINTR.
        action.__sigaction_handler.sa_handler = { _ in }
        try #require(sigaction(SIGUSR2, &action, &former) == 0)
        defer { sigaction(SIGUSR2, &former, nil) }
        let copy = Copy(of: path, in: directory.path)
        // Returns when the copying thread has opened the pipe.
        let writer = open(path, O_WRONLY | O_CLOEXEC)
        for _ in 0..<20 {
            while !copy.isWaiting { sched_yield() }
            copy.interrupt()
        }
        try #require(write(writer, "text", 4) == 4)
        close(writer)
        #expect(try bytes(copy.result()) == Array("text".utf8))
    }

    /// A thread that copies a file.
    private final class Copy: @unchecked Sendable {
        // The fields are written before a semaphore is signalled, and read after the wait for it.
        private var thread: (handle: pthread_t, directory: String)?
        private var copied: Result<TemporaryFile, any Error>?
        private let (hasBegun, hasEnded) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )

        init(of path: String, in directory: String) {
            Thread.detachNewThread { [self] in
                let link = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/thread-self")
                thread = (pthread_self(), "/proc/\(link ?? "")")
                hasBegun.signal()
                copied = Result { try TemporaryFile(copying: path, in: directory) }
                hasEnded.signal()
            }
            hasBegun.wait()
        }

        /// True while the thread sleeps in a system call.
        var isWaiting: Bool {
            let path = "\(thread?.directory ?? "")/stat"
            let text = try? String(contentsOfFile: path, encoding: .utf8)
            return text?.split(separator: ")").last?.hasPrefix(" S") == true
        }

        func interrupt() {
            if let thread { pthread_kill(thread.handle, SIGUSR2) }
        }

        func result() throws -> TemporaryFile {
            hasEnded.wait()
            return try #require(copied).get()
        }
    }
}
