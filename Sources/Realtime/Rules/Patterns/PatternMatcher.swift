extension RulePattern {
    /// True if the pattern is found in a text; nil if that takes more steps than there are left.
    ///
    /// - Parameter steps: the steps that are left.
    ///
    /// Complexity: at most the product of the text's length and the count of instructions.
    func isFound(in text: String, steps: inout Int) -> Bool? {
        let count = instructions.count
        return withUnsafeTemporaryAllocation(of: Int.self, capacity: 4 * count) { memory in
            memory.initialize(repeating: 0)
            var machine = Machine(pattern: self, memory: memory)
            return machine.run(text, &steps)
        }
    }

    /// The state of a search: the instructions that consume the next character, all at once.
    private struct Machine {
        let pattern: RulePattern
        private var current: UnsafeMutableBufferPointer<Int>.SubSequence
        private var next: UnsafeMutableBufferPointer<Int>.SubSequence
        private var stack: UnsafeMutableBufferPointer<Int>.SubSequence
        /// By instruction, the position of the text at which it was last added, from 1.
        private var added: UnsafeMutableBufferPointer<Int>.SubSequence
        private var currentCount = 0
        private var nextCount = 0
        private var position = 0
        private var isMatched = false

        init(pattern: RulePattern, memory: UnsafeMutableBufferPointer<Int>) {
            self.pattern = pattern
            let count = pattern.instructions.count
            current = memory[0..<count]
            next = memory[count..<2 * count]
            stack = memory[2 * count..<3 * count]
            added = memory[3 * count..<4 * count]
        }

        mutating func run(_ text: String, _ steps: inout Int) -> Bool? {
            position = 1
            add(0)
            endPosition()
            for scalar in text.unicodeScalars {
                if isMatched, !pattern.isAnchoredAtEnd { return true }
                if currentCount == 0, pattern.isAnchoredAtStart { return false }
                steps -= currentCount + 1
                guard steps >= 0 else { return nil }
                position += 1
                isMatched = false
                consume(scalar)
                if !pattern.isAnchoredAtStart { add(0) }
                endPosition()
            }
            return isMatched
        }

        /// What was added for the next position becomes current.
        private mutating func endPosition() {
            swap(&current, &next)
            currentCount = nextCount
            nextCount = 0
        }

        private mutating func consume(_ scalar: Unicode.Scalar) {
            let folded = pattern.ignoresCase ? scalar.lowercased : scalar
            for offset in 0..<currentCount {
                let place = current[current.startIndex + offset]
                let isConsumed =
                    switch pattern.instructions[place] {
                    case .any: true
                    case .character(let expected): folded == expected
                    case .set(let set): set.contains(scalar, ignoresCase: pattern.ignoresCase)
                    case .fork, .jump, .match: false
                    }
                if isConsumed { add(place + 1) }
            }
        }

        /// Adds an instruction, and those that it continues at.
        private mutating func add(_ instruction: Int) {
            var stackCount = 0
            push(instruction, &stackCount)
            while stackCount > 0 {
                stackCount -= 1
                let place = stack[stack.startIndex + stackCount]
                switch pattern.instructions[place] {
                case .fork(let first, let second):
                    push(second, &stackCount)
                    push(first, &stackCount)
                case .jump(let target): push(target, &stackCount)
                case .match: isMatched = true
                case .any, .character, .set:
                    next[next.startIndex + nextCount] = place
                    nextCount += 1
                }
            }
        }

        /// Pushes an instruction once for each position, so that the stack is large enough.
        private mutating func push(_ place: Int, _ stackCount: inout Int) {
            guard added[added.startIndex + place] != position else { return }
            added[added.startIndex + place] = position
            stack[stack.startIndex + stackCount] = place
            stackCount += 1
        }
    }
}
