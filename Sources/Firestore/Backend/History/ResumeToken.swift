import LarderModel
import LarderRemote

/// A commit up to which a watch stream has sent everything, encoded for clients.
///
///     token    mark "larder" | format (1 byte, 2) | run 8 | seconds 8 | nanoseconds 4 | signature 8
///     before   format (1 byte, 1) | identity 8 | seconds 8 | nanoseconds 4
///
/// Numbers are big-endian. The signature proves that a backend with this store's key has issued the
/// token, so that a client can invent neither a history nor a future.
struct ResumeToken: Equatable {
    /// The run of the commit; nil in tokens of earlier versions, which have no runs.
    let run: UInt64?
    let version: SnapshotVersion
    private let signature: UInt64?

    private static let beginning = larderTokenMark + [2]
    private static let formerBeginning: [UInt8] = [1]

    init(run: UInt64, version: SnapshotVersion, signedWith key: TokenKey) {
        self.run = run
        self.version = version
        signature = key.signature(of: Self.content(run, version))
    }

    /// Decodes a token; nil for malformed bytes.
    init?(bytes: [UInt8]) {
        if bytes.starts(with: Self.beginning), bytes.count == Self.beginning.count + 28 {
            let content = bytes.dropFirst(Self.beginning.count)
            run = Self.number(content.prefix(8))
            signature = Self.number(content.suffix(8))
            guard let version = Self.version(content.dropFirst(8)) else { return nil }
            self.version = version
        } else if bytes.starts(with: Self.formerBeginning), bytes.count == 21 {
            (run, signature) = (nil, nil)
            guard let version = Self.version(bytes.dropFirst(9)) else { return nil }
            self.version = version
        } else {
            return nil
        }
    }

    /// True if the token was issued with a key.
    func isSigned(with key: TokenKey) -> Bool {
        guard let run, let signature else { return false }
        return signature == key.signature(of: Self.content(run, version))
    }

    var bytes: [UInt8] {
        Self.beginning + Self.content(run ?? 0, version) + Self.bytes(of: signature ?? 0)
    }

    private static func content(_ run: UInt64, _ version: SnapshotVersion) -> [UInt8] {
        bytes(of: run) + bytes(of: UInt64(bitPattern: version.timestamp.seconds))
            + bytes(of: UInt64(UInt32(bitPattern: version.timestamp.nanoseconds))).suffix(4)
    }

    /// The version at the beginning of some bytes; nil for an impossible time.
    private static func version(_ bytes: ArraySlice<UInt8>) -> SnapshotVersion? {
        let seconds = Int64(bitPattern: number(bytes.prefix(8)))
        let nanoseconds = Int32(truncatingIfNeeded: number(bytes.dropFirst(8).prefix(4)))
        guard let time = try? Timestamp(validatingSeconds: seconds, nanoseconds: nanoseconds)
        else { return nil }
        return SnapshotVersion(time)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(of number: UInt64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}

/// The secret of a store with which its backend signs tokens: a key of SipHash-2-4.
struct TokenKey: Sendable, Equatable {
    private let low: UInt64
    private let high: UInt64

    init(_ low: UInt64, _ high: UInt64) {
        (self.low, self.high) = (low, high)
    }

    /// Decodes a stored key; nil for malformed bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.init(Self.word(bytes[..<8]), Self.word(bytes[8...]))
    }

    var bytes: [UInt8] { low.littleEndianBytes + high.littleEndianBytes }

    func signature(of bytes: [UInt8]) -> UInt64 {
        var state = SipState(low, high)
        let end = bytes.count & ~7
        for start in stride(from: 0, to: end, by: 8) {
            state.compress(Self.word(bytes[start..<start + 8]))
        }
        state.compress(Self.word(bytes[end...]) | UInt64(bytes.count & 0xFF) << 56)
        return state.finish()
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

private struct SipState {
    private var a, b, c, d: UInt64

    init(_ low: UInt64, _ high: UInt64) {
        a = low ^ 0x736F_6D65_7073_6575
        b = high ^ 0x646F_7261_6E64_6F6D
        c = low ^ 0x6C79_6765_6E65_7261
        d = high ^ 0x7465_6462_7974_6573
    }

    mutating func compress(_ word: UInt64) {
        d ^= word
        mix(2)
        a ^= word
    }

    mutating func finish() -> UInt64 {
        c ^= 0xFF
        mix(4)
        return a ^ b ^ c ^ d
    }

    private mutating func mix(_ rounds: Int) {
        for _ in 0..<rounds {
            a &+= b
            b = b.rotated(left: 13) ^ a
            a = a.rotated(left: 32)
            c &+= d
            d = d.rotated(left: 16) ^ c
            a &+= d
            d = d.rotated(left: 21) ^ a
            c &+= b
            b = b.rotated(left: 17) ^ c
            c = c.rotated(left: 32)
        }
    }
}

extension UInt64 {
    fileprivate func rotated(left count: UInt64) -> UInt64 {
        self << count | self >> (64 - count)
    }
}
