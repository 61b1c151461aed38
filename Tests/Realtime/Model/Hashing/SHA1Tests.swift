import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("SHA-1")
struct SHA1Tests {
    private func base64(_ text: String) -> String {
        var hash = SHA1()
        hash.update(text)
        return hash.digest.base64
    }

    @Test("the standard's vectors are met, by both implementations")
    func vectors() {
        let abc = "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="
        #expect(base64("abc") == abc && PlainSHA1.base64(Array("abc".utf8)) == abc)
        #expect(base64("") == "2jmj7l5rSw0yVb/vlWAYkK/YBwk=")
        #expect(base64(String(repeating: "a", count: 1_000_000)) == "NKqXPNTE2qT2Husr260nMWU0AW8=")
    }

    @Test("the result does not depend on how the bytes are divided")
    func pieces() {
        var random = SeededRandom()
        for size in 0..<300 {
            let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            var hash = SHA1()
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(1 + random.below(100))
                rest = rest.dropFirst(piece.count)
                piece.withUnsafeBytes { hash.update($0) }
            }
            #expect(hash.digest.base64 == PlainSHA1.base64(bytes), "\(random)")
        }
    }
}
