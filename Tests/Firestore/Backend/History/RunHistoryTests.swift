import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Runs of a backend")
struct RunHistoryTests {
    private let key = TokenKey(1, 2)

    private func version(_ seconds: Int64) -> SnapshotVersion {
        SnapshotVersion(Timestamp(seconds: seconds, nanoseconds: 0))
    }

    private func now(_ seconds: Int64) -> Timestamp { Timestamp(seconds: seconds, nanoseconds: 0) }

    private func token(_ run: UInt64, _ seconds: Int64, key: TokenKey? = nil) -> [UInt8] {
        ResumeToken(run: run, version: version(seconds), signedWith: key ?? self.key).bytes
    }

    /// Runs 1, from 10 to 20, and 2, from 30 to 40.
    private func history() -> RunHistory {
        RunHistory(
            key: key,
            runs: [
                .init(name: 1, start: version(10), end: version(20)),
                .init(name: 2, start: version(30), end: version(40)),
            ], nextName: 3)
    }

    @Test("The signature is SipHash-2-4")
    func signature() {
        // The vector of the paper.
        let key = TokenKey(0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
        #expect(key.signature(of: Array(0..<15)) == 0xA129_CA61_49BE_45E5)
        #expect(TokenKey(bytes: key.bytes) == key)
        #expect(TokenKey(bytes: [1]) == nil)
    }

    @Test("A token is decoded as it was encoded; of any other bytes none is")
    func coding() throws {
        let bytes = token(7, 30)
        #expect(bytes.starts(with: larderTokenMark))
        let decoded = try #require(ResumeToken(bytes: bytes))
        #expect(decoded.run == 7 && decoded.version == version(30) && decoded.isSigned(with: key))
        #expect(decoded.bytes == bytes)
        for position in bytes.indices {
            var forged = bytes
            forged[position] ^= 1
            #expect(ResumeToken(bytes: forged)?.isSigned(with: key) != true)
        }
        for bytes in [[], [1], [2], bytes + [0], Array(bytes.dropLast()), larderTokenMark] {
            #expect(ResumeToken(bytes: bytes) == nil)
        }
        var random = SeededRandom(seed: 1)
        for count in 0..<64 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            _ = ResumeToken(bytes: bytes)
            _ = ResumeToken(bytes: larderTokenMark + [2] + bytes)
            _ = ResumeToken(bytes: [1] + bytes)
        }
    }

    @Test("A token is taken if this history has its run up to its commit")
    func judgements() {
        let history = history()
        for seconds in [10, 15, 20] as [Int64] {
            #expect(history.judge(token(1, seconds)) == .known(version(seconds)))
        }
        #expect(history.judge(token(2, 40)) == .known(version(40)))
        for (run, seconds) in [(1, 21), (1, 35), (2, 25), (2, 41), (3, 35), (9, 15)] {
            #expect(
                history.judge(token(UInt64(run), Int64(seconds)))
                    == .foreign(version(Int64(seconds)), isProven: true))
        }
        #expect(history.judge(token(1, 9)) == .outdated)
        #expect(
            history.judge(token(2, 35, key: TokenKey(3, 4)))
                == .foreign(version(35), isProven: false))
        #expect(history.judge(token(2, 5, key: TokenKey(3, 4))) == .outdated)
        #expect(history.judge([1, 2, 3]) == .outdated)
    }

    @Test("Nothing from before a floor is taken")
    func floors() {
        var history = history()
        history.raise(at: version(50))
        let name = history.runName
        history.commit(at: version(60))
        #expect(history.judge(token(1, 15)) == .outdated)
        #expect(history.judge(token(2, 40)) == .outdated)
        #expect(history.judge(token(9, 15)) == .outdated)
        #expect(history.judge(token(name, 50)) == .known(version(50)))
        #expect(history.judge(token(name, 60)) == .known(version(60)))
        #expect(history.judge(token(9, 50)) == .foreign(version(50), isProven: true))
        #expect(!history.includes(version(15)) && history.includes(version(55)))
    }

    @Test("A read time is taken if a run includes it")
    func readTimes() {
        let history = history()
        for seconds in [10, 20, 30, 40] as [Int64] { #expect(history.includes(version(seconds))) }
        for seconds in [0, 9, 21, 29, 41] as [Int64] {
            #expect(!history.includes(version(seconds)))
        }
    }

    @Test("Commits extend the run that the first one begins")
    func commits() {
        var history = history()
        #expect(history.runName == 2)
        history.commit(at: version(50))
        let name = history.runName
        #expect(name != 2)
        history.commit(at: version(60))
        #expect(history.runs.map(\.end) == [20, 40, 60].map(version))
        #expect(history.runName == name && history.version == version(60))
        #expect(history.judge(history.token) == .known(version(60)))
        #expect(history.judge(token(2, 45)) == .foreign(version(45), isProven: true))
        history.raise(at: version(70))
        #expect(history.runs.map(\.start) == [version(70)] && history.runName == name)
        #expect(history.judge(token(name, 60)) == .outdated)
        #expect(history.judge(history.token) == .known(version(70)))
    }

    @Test("Runs of different starts have different names, whatever is random")
    func names() {
        var (first, second) = (history(), history())
        first.commit(at: version(50))
        second.commit(at: version(51))
        #expect(first.runName != second.runName)
    }

    @Test("Only the last runs are kept; tokens of the others are outdated")
    func limit() {
        var runs = history()
        for second in 50..<1_100 as Range<Int64> {
            runs = RunHistory(
                key: key, runs: runs.runs, floors: runs.floors, nextName: UInt64(second))
            runs.commit(at: version(second))
        }
        #expect(runs.runs.count == 1_000)
        #expect(runs.judge(token(1, 15)) == .outdated)
        var floors = Floors()
        for second in 0..<1_100 as Range<Int64> { floors.append(version(second)) }
        #expect(floors.versions.count == 1_000 && floors.last == version(1_099))
    }

    @Test("A proof of a lost history requires a floor above what it has seen")
    func provenFloors() throws {
        var runs = history()
        #expect(runs.timeOfFloor(for: token(2, 40), at: now(50)) == nil)
        #expect(runs.timeOfFloor(for: token(1, 9), at: now(50)) == nil)
        #expect(runs.timeOfFloor(for: token(9, 45), at: now(50)) == now(50))
        // The clock was set back: it has seen more than the token says.
        #expect(runs.timeOfFloor(for: token(9, 45), at: now(42)) == now(645))
        let last = Timestamp(seconds: 253_402_300_799, nanoseconds: 0)
        let end = ResumeToken(run: 9, version: SnapshotVersion(last), signedWith: key).bytes
        #expect(runs.timeOfFloor(for: end, at: now(50)) == last)
    }

    @Test("Without proof there is one floor in an opening, and none in the future")
    func unprovenFloors() {
        var runs = history()
        let (mine, forged) = (token(2, 41), token(2, 253_402_300_799, key: TokenKey(3, 4)))
        #expect(runs.timeOfFloor(for: token(2, 5, key: TokenKey(3, 4)), at: now(50)) == nil)
        #expect(runs.timeOfFloor(for: forged, at: now(50)) == now(50))
        for _ in 0..<10 { #expect(runs.timeOfFloor(for: forged, at: now(50)) == nil) }
        #expect(runs.timeOfFloor(for: mine, at: now(50)) == now(50))
    }
}
