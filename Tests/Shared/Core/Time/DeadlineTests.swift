import Dispatch
import LarderTestSupport
import Testing

@testable import LarderCore

@Suite("Deadlines")
struct DeadlineTests {
    @Test("Random deadlines agree with a sorted array under any cancellations")
    func random() {
        var random = SeededRandom()
        var queue = DeadlineQueue<Int>()
        // The actions that are there, in the order in which they came.
        var model: [(id: UInt64, time: UInt64, action: Int)] = []
        var now: UInt64 = 0
        for step in 0..<20_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let time = now + .random(in: 0...50, using: &random)
                model.append((queue.add(step, at: time), time, step))
            case 5..<9:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                queue.remove(model[index].id)
                // A second time takes nothing back.
                queue.remove(model.remove(at: index).id)
            default:
                now += .random(in: 0...20, using: &random)
                while let action = queue.popDue(at: now) {
                    let first = model.indices.min { model[$0].time < model[$1].time }
                    guard let first, model[first].time <= now else {
                        Issue.record("\(action) is not due, \(random)")
                        return
                    }
                    #expect(model.remove(at: first).action == action, "\(random)")
                }
                #expect(!model.contains { $0.time <= now }, "\(random)")
            }
            #expect(queue.nextTime == model.map(\.time).min(), "\(random)")
            #expect(queue.footprint <= 2 * model.count + 64)
        }
    }

    @Test("Actions are done in the order of their times, and not when they were taken back")
    func order() async {
        // Longer than it takes to set all of them, or their order would be another one.
        var step = Duration.milliseconds(1)
        while await !areInOrder(step) { step *= 2 }
    }

    /// Sets actions that are a step apart, and checks how they are done.
    ///
    /// - Returns: false if setting them took a step or more, and nothing was checked.
    private func areInOrder(_ step: Duration) async -> Bool {
        let queue = DispatchQueue(label: "test")
        let deadlines = Deadlines(queue)
        let done = Awaited<[Int]>([])
        let start = ContinuousClock.now
        let far = deadlines.after(.seconds(1_000_000_000_000)) { done.change { $0.append(0) } }
        // So that nothing is done before all is said, however slow the machine is.
        queue.suspend()
        let taken = deadlines.after(step) { done.change { $0.append(9) } }
        taken.cancel()
        _ = deadlines.after(step * 3) { done.change { $0.append(3) } }
        let last = deadlines.after(step * 4) { done.change { $0.append(4) } }
        _ = deadlines.after(step * 2) {
            done.change { $0.append(2) }
            // Also where both are due.
            last.cancel()
        }
        _ = deadlines.after(.seconds(-1)) { done.change { $0.append(1) } }
        _ = deadlines.after(step * 5) { done.change { $0.append(5) } }
        let isSetInTime = ContinuousClock.now - start < step
        queue.resume()
        defer { far.cancel() }
        guard isSetInTime else { return false }
        await done.wait { $0.last == 5 }
        #expect(done.value == [1, 2, 3, 5])
        return true
    }

    @Test("They release their actions")
    func end() {
        weak var weakDeadlines: Deadlines?
        do {
            let deadlines = Deadlines(DispatchQueue(label: "test"))
            weakDeadlines = deadlines
            _ = deadlines.after(.seconds(3600)) {}
        }
        #expect(weakDeadlines == nil)
    }
}
