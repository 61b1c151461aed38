import Foundation
import LarderRemote
import LarderTestSupport
import Testing

@Suite("MD5")
struct MD5Tests {
    /// The digest as it is written: its bytes in order, in hexadecimal.
    private func hex(_ hash: MD5) -> String {
        [hash.digest.low, hash.digest.high].map { half in
            String(format: "%016lx", half.byteSwapped)
        }.joined()
    }

    @Test(
        "The digests of RFC 1321",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f"
            ),
            (
                String(repeating: "1234567890", count: 8),
                "57edf4a22be3c955ac49da2e2107b67a"
            ),
        ])
    func digests(_ text: String, _ expected: String) {
        #expect(hex(MD5(text)) == expected)
    }

    @Test("A block and its padding end at every length", arguments: [55, 56, 57, 63, 64, 65, 119])
    func lengths(_ count: Int) {
        let expected = [
            55: "ef1772b6dff9a122358552954ad0df65", 56: "3b0c8ac703f828b04c6c197006d17218",
            57: "652b906d60af96844ebd21b674f35e93", 63: "b06521f39153d618550606be297466d5",
            64: "014842d480b571495a4a0363793f7367", 65: "c743a45e0d2e6a95cb859adae0248435",
            119: "8a7bd0732ed6a28ce75f6dabc90e1613",
        ]
        #expect(hex(MD5(String(repeating: "a", count: count))) == expected[count])
    }

    @Test("Text fed in pieces has the digest of the whole")
    func pieces() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let text = String.random(ofLength: random.below(150), &random)
            let cut = text.index(text.startIndex, offsetBy: random.below(text.count + 1))
            var hash = MD5(String(text[..<cut]))
            hash.update(String(text[cut...]))
            #expect(hash.digest == MD5(text).digest, "\(random)")
        }
    }
}
