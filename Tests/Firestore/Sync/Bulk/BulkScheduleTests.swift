import LarderModel
import LarderSync
import Testing

@Suite("The schedule of bulk writes")
struct BulkScheduleTests {
    private func delete(_ id: Int) throws -> Mutation {
        Mutation(.delete, at: try DocumentPath("a/\(id)"))
    }

    /// Adds deletes of different documents.
    private func add(_ ids: ClosedRange<Int>, to schedule: inout BulkSchedule) throws {
        for id in ids { _ = schedule.add(try delete(id)) }
    }

    private func batch(_ ids: ClosedRange<UInt64>) -> BulkSchedule.Step { .send(Array(ids)) }

    @Test("Full batches are sent at once, and the rest when nothing is in flight")
    func batches() throws {
        var schedule = BulkSchedule(nil)
        try add(1...45, to: &schedule)
        #expect(schedule.next(at: .zero) == batch(1...20))
        #expect(schedule.next(at: .zero) == batch(21...40))
        #expect(schedule.next(at: .zero) == .rest)
        schedule.answered()
        #expect(schedule.next(at: .zero) == .rest)
        schedule.answered()
        #expect(schedule.next(at: .zero) == batch(41...45))
    }

    @Test("A flush sends what does not fill a batch, and later writes wait again")
    func flush() throws {
        var schedule = BulkSchedule(nil)
        try add(1...22, to: &schedule)
        #expect(schedule.next(at: .zero) == batch(1...20))
        schedule.flush()
        #expect(schedule.next(at: .zero) == batch(21...22))
        try add(23...24, to: &schedule)
        #expect(schedule.next(at: .zero) == .rest)
    }

    @Test("Writes of one document are sent one after the other")
    func sameDocument() throws {
        var schedule = BulkSchedule(nil)
        let first = schedule.add(try delete(1))
        let second = schedule.add(try delete(1))
        let other = schedule.add(try delete(2))
        schedule.flush()
        #expect(schedule.next(at: .zero) == .send([first, other]))
        #expect(schedule.next(at: .zero) == .rest)
        schedule.answered()
        schedule.finish(other)
        // The first one is retried, and the second one goes on waiting.
        schedule.failed(first)
        schedule.retry(first, at: .zero, jitter: 0)
        #expect(schedule.next(at: .zero) == .wait(until: .seconds(1)))
        #expect(schedule.next(at: .seconds(1)) == .send([first]))
        schedule.answered()
        schedule.finish(first)
        #expect(schedule.next(at: .seconds(1)) == .send([second]))
        schedule.finish(second)
        #expect(schedule.pendingCount == 0)
    }

    @Test("Retries are delayed by a second, half as much more each time, and at most a minute")
    func backoff() throws {
        var schedule = BulkSchedule(nil)
        let write = schedule.add(try delete(1))
        var (now, delays) = (Duration.zero, [Duration]())
        #expect(schedule.next(at: now) == .send([write]))
        for _ in 1...14 {
            schedule.answered()
            schedule.failed(write)
            schedule.retry(write, at: now, jitter: 0)
            guard case .wait(let time) = schedule.next(at: now) else {
                Issue.record("no delay")
                return
            }
            delays.append(time - now)
            now = time
            #expect(schedule.next(at: now) == .send([write]))
        }
        #expect(delays.prefix(3) == [.seconds(1), .seconds(1.5), .seconds(2.25)])
        #expect(delays[12...] == [.seconds(60), .seconds(60)])
        #expect(schedule.failedAttempts(write) == 14)
        // A backend that lacks resources is spared for the longest time at once.
        let other = schedule.add(try delete(2))
        schedule.answered()
        #expect(schedule.next(at: now) == .send([other]))
        schedule.failed(other)
        schedule.retry(other, at: now, isOverloaded: true, jitter: 0)
        #expect(schedule.next(at: now) == .wait(until: now + .seconds(60)))
    }

    @Test("The number of batches in flight is limited")
    func inFlight() throws {
        var schedule = BulkSchedule(nil)
        try add(1...1000, to: &schedule)
        var sent = 0
        while case .send = schedule.next(at: .zero) { sent += 1 }
        #expect(sent == BulkSchedule.maxBatchesInFlight)
        schedule.answered()
        #expect(schedule.next(at: .zero) == batch(501...520))
    }

    @Test("The ramp-up allows 500 writes in the first second, and half as many more in 5 minutes")
    func rampUp() throws {
        var schedule = BulkSchedule(RampUp(initial: 500, most: 10_000, at: .zero))
        var next = 1
        /// The number of writes that can be sent at a time, and when the next one can be.
        func sent(at now: Duration) throws -> (count: Int, next: Duration?) {
            var count = 0
            while true {
                try add(next...(next + 19), to: &schedule)
                next += 20
                switch schedule.next(at: now) {
                case .send(let ids):
                    count += ids.count
                    schedule.answered()
                case .wait(let time): return (count, time - now)
                case .rest: return (count, nil)
                }
            }
        }
        var (count, delay) = try sent(at: .zero)
        #expect(count == 500 && delay == .seconds(0.04))
        (count, delay) = try sent(at: .seconds(0.5))
        // 12 batches and a half.
        #expect(count == 240 && delay == .seconds(0.02))
        (count, delay) = try sent(at: .seconds(300))
        #expect(count == 740 && delay == .seconds(10.0 / 750))
    }

    @Test("The capacity grows by half every five minutes up to its bound")
    func capacity() {
        let rampUp = RampUp(initial: 500, most: 1_000, at: .seconds(7))
        #expect(rampUp.capacity(at: .seconds(306)) == 500)
        #expect(rampUp.capacity(at: .seconds(307)) == 750)
        #expect(rampUp.capacity(at: .seconds(607)) == 1_000)
        #expect(rampUp.capacity(at: .seconds(1_000_000)) == 1_000)
    }

    @Test("A low rate makes smaller batches")
    func lowRate() throws {
        var schedule = BulkSchedule(RampUp(initial: 5, most: 5, at: .zero), initialRate: 5)
        try add(1...12, to: &schedule)
        #expect(schedule.next(at: .zero) == batch(1...5))
        #expect(schedule.next(at: .zero) == .wait(until: .seconds(1)))
        #expect(schedule.next(at: .seconds(1)) == batch(6...10))
    }
}
