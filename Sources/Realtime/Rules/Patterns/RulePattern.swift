/// A regular expression, compiled to a machine whose time is at most the product of the text's
/// length and its own: no pattern makes it backtrack.
///
/// A pattern is found anywhere in a text. `^` at its beginning and `$` at its end bind the whole
/// pattern, all its alternatives, to the ends of the text. Characters are Unicode scalars.
struct RulePattern: Sendable {
    /// The longest source, in bytes.
    static let maximumBytes = 4096
    /// The most instructions of a machine.
    static let maximumInstructions = 4096

    /// An instruction of the machine.
    enum Instruction: Sendable {
        /// Consumes any character.
        case any
        /// Consumes one character.
        case character(Unicode.Scalar)
        /// Consumes a character of a set.
        case set(ScalarSet)
        /// Continues at both places.
        case fork(Int, Int)
        case jump(Int)
        case match
    }

    private(set) var instructions: [Instruction] = []
    let isAnchoredAtStart: Bool
    let isAnchoredAtEnd: Bool
    let ignoresCase: Bool
    /// The count of parts compiled so far.
    private var work = 0

    /// Compiles the source between the slashes.
    init(_ source: [UInt8], ignoresCase: Bool = false) throws(RulesFailure) {
        guard source.count <= Self.maximumBytes else {
            throw RulesFailure(0, "a regular expression has more than \(Self.maximumBytes) bytes")
        }
        var parser = PatternParser(source)
        let syntax = try parser.parse()
        isAnchoredAtStart = parser.isAnchoredAtStart
        isAnchoredAtEnd = parser.isAnchoredAtEnd
        self.ignoresCase = ignoresCase
        try compile(syntax)
        try append(.match)
    }

    private mutating func append(_ instruction: Instruction) throws(RulesFailure) {
        try spend()
        instructions.append(instruction)
    }

    private mutating func spend() throws(RulesFailure) {
        work += 1
        guard work <= 2 * Self.maximumInstructions, instructions.count < Self.maximumInstructions
        else { throw RulesFailure(0, "the regular expression is too large with its repetitions") }
    }

    private mutating func compile(_ syntax: PatternSyntax) throws(RulesFailure) {
        try spend()
        switch syntax {
        case .any: try append(.any)
        case .character(let scalar):
            try append(.character(ignoresCase ? scalar.lowercased : scalar))
        case .set(let set): try append(.set(set))
        case .sequence(let parts): for part in parts { try compile(part) }
        case .union(let branches): try compileUnion(branches)
        case .repeated(let part, let minimum, let maximum):
            for _ in 0..<minimum { try compile(part) }
            if let maximum {
                try compileOptional(part, count: maximum - minimum)
            } else {
                try compileLoop(part)
            }
        }
    }

    private mutating func compileUnion(_ branches: [PatternSyntax]) throws(RulesFailure) {
        var ends: [Int] = []
        for (index, branch) in branches.enumerated() {
            let fork = instructions.count
            let isLast = index == branches.count - 1
            if !isLast { try append(.fork(fork + 1, fork + 1)) }
            try compile(branch)
            guard !isLast else { continue }
            ends.append(instructions.count)
            try append(.jump(0))
            instructions[fork] = .fork(fork + 1, instructions.count)
        }
        for end in ends { instructions[end] = .jump(instructions.count) }
    }

    private mutating func compileOptional(
        _ part: PatternSyntax, count: Int
    ) throws(RulesFailure) {
        var forks: [Int] = []
        for _ in 0..<count {
            forks.append(instructions.count)
            try append(.jump(0))
            try compile(part)
        }
        for fork in forks { instructions[fork] = .fork(fork + 1, instructions.count) }
    }

    private mutating func compileLoop(_ part: PatternSyntax) throws(RulesFailure) {
        let fork = instructions.count
        try append(.jump(0))
        try compile(part)
        try append(.jump(fork))
        instructions[fork] = .fork(fork + 1, instructions.count)
    }
}
