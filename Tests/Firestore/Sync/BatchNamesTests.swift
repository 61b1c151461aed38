import LarderModel
import LarderRemote
import Testing

@testable import LarderSync

@Suite("The names of batches")
struct BatchNamesTests {
    private var names = BatchNames(client: "c", writer: "w")

    private func batch(_ id: Int64, at seconds: Int64 = 7) -> MutationBatch {
        MutationBatch(
            id: id, localWriteTime: Timestamp(unchecked: seconds, 5), mutations: [],
            attemptCount: 0, lastAttempt: nil, lastError: nil)
    }

    /// Sends batches and stores their answers, each in a commit.
    private mutating func send(_ ids: ClosedRange<Int64>) -> [WriteToken] {
        ids.map { id in
            let token = names.token(for: batch(id))
            names.receiveAnswer(to: batch(id))
            names.noteStored([id])
            return token
        }
    }

    @Test("are those of their numbers and times, and valid")
    mutating func form() {
        let first = names.token(for: batch(1))
        #expect(first == WriteToken(client: "c", write: "1-7-5", writer: "w"))
        #expect(names.token(for: batch(1)) == WriteToken(client: "c", write: "1-7-5"))
        #expect(names.token(for: batch(1, at: 8)).write != first.write)
        #expect(names.token(for: batch(.max, at: 253_402_300_799)).isValid)
    }

    @Test("are told as answered once, a commit after that of the answer")
    mutating func answered() {
        let tokens = send(1...4)
        #expect(tokens.map(\.answered) == [[], [], ["1-7-5"], ["2-7-5"]])
        _ = names.token(for: batch(5))
        names.receiveAnswer(to: batch(5))
        // The answer is not stored.
        #expect(names.token(for: batch(6)).answered.isEmpty)
    }

    @Test("are told again if the message that told them had no answer")
    mutating func lost() {
        _ = send(1...2)
        #expect(names.token(for: batch(3)).answered == ["1-7-5"])
        names.endStream()
        #expect(names.token(for: batch(3)).answered == ["1-7-5"])
        names.receiveAnswer(to: batch(3))
        names.endStream()
        #expect(names.token(for: batch(4)).answered.isEmpty)
    }

    @Test("carry the name of the process in the first message of each stream")
    mutating func writer() {
        for _ in 0..<2 {
            let tokens = (1...3).map { names.token(for: batch($0)) }
            #expect(tokens.map(\.writer) == ["w", nil, nil])
            names.endStream()
        }
    }

    @Test("are told in messages of a limited size")
    mutating func many() {
        for id in 1...1_200 {
            _ = names.token(for: batch(Int64(id)))
            names.receiveAnswer(to: batch(Int64(id)))
        }
        names.noteStored(Array(1...1_200))
        names.noteStored([])
        let counts = (1...4).map { names.token(for: batch(1_200 + $0)).answered.count }
        #expect(counts == [500, 500, 200, 0])
    }
}
