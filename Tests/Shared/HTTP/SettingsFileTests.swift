import Foundation
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderHTTP

@Suite("Files of settings")
struct SettingsFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let path = directory.file(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func refusal(_ path: String) -> String? {
        do throws(LarderError) {
            _ = try SettingsFile.readText(path)
            return nil
        } catch {
            #expect(error.kind == .invalidArgument)
            return error.message
        }
    }

    @Test("a file is read whole")
    func reads() throws {
        #expect(try SettingsFile.read(write("empty", [])).isEmpty)
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(try Array(SettingsFile.read(write("large", bytes))) == bytes)
        #expect(try SettingsFile.readText(write("text", "ü\n".utf8)) == "ü\n")
    }

    @Test("a file that cannot be read is refused with the reason")
    func refuses() throws {
        let missing = directory.file("missing")
        #expect(
            refusal(missing) == "the file '\(missing)' cannot be read: No such file or directory")
        let folder = directory.file("")
        #expect(refusal(folder) == "the file '\(folder)' cannot be read: Is a directory")
        let bytes = try write("bytes", [0x61, 0xff])
        #expect(refusal(bytes) == "the file '\(bytes)' cannot be read: it is not UTF-8")
        #expect(refusal("/dev/zero") == "the file '/dev/zero' is larger than 64 MiB")
    }

    @Test("a certificate is replaced by one with its key, and kept otherwise")
    func credentials() throws {
        let (certificate, key) = (
            try write("certificate", TestKeys.serverCertificate.utf8),
            try write("key", TestKeys.serverKey.utf8)
        )
        let credentials = try TLSCredentials(certificatePath: certificate, keyPath: key)
        let context = credentials.context
        #expect(try !credentials.reload())
        for (name, content) in [("key", "x"), ("key", ""), ("certificate", "")] {
            let path = try write(name, content.utf8)
            let error = #expect(throws: LarderError.self) { try credentials.reload() }
            #expect(error?.message.contains("cannot be used") == true)
            try FileManager.default.removeItem(atPath: path)
            let missing = #expect(throws: LarderError.self) { try credentials.reload() }
            #expect(
                missing?.message
                    == "the file '\(path)' cannot be read: No such file or directory")
            _ = try write(
                name,
                (name == "key" ? TestKeys.serverKey : TestKeys.serverCertificate).utf8)
        }
        #expect(credentials.context === context)
        _ = try write("key", (TestKeys.serverKey + "\n").utf8)
        #expect(try credentials.reload())
        #expect(credentials.context !== context)
    }
}
