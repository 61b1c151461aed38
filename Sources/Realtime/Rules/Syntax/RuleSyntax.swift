/// An expression of a rule as it is written.
struct RuleSyntax {
    let form: Form
    /// The offset of the part that problems of the expression are reported at.
    let offset: Int
    /// The levels of expressions, this one included.
    let depth: Int

    indirect enum Form {
        case null
        case boolean(Bool)
        case number(Double)
        case string(String)
        case pattern(RulePattern)
        /// A variable.
        case name(String)
        case list([RuleSyntax])
        /// `a.b`, or `a['b']`.
        case member(RuleSyntax, String)
        /// `a[b]`.
        case element(RuleSyntax, RuleSyntax)
        case call(RuleSyntax, [RuleSyntax])
        case not(RuleSyntax)
        case negative(RuleSyntax)
        /// Expressions between `&&`.
        case all([RuleSyntax])
        /// Expressions between `||`.
        case any([RuleSyntax])
        case equality(RuleSyntax, RuleSyntax, isEqual: Bool)
        case comparison(RuleRelation, RuleSyntax, RuleSyntax)
        case arithmetic(RuleArithmetic, RuleSyntax, RuleSyntax)
        case choice(RuleSyntax, RuleSyntax, RuleSyntax)
    }
}

/// An operator that compares numbers or strings.
enum RuleRelation: String, Sendable {
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="

    /// True if the relation holds between values of an order.
    ///
    /// - Parameter order: below, equal to or above 0.
    func holds(_ order: Int) -> Bool {
        switch self {
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }
}

/// An operator that makes a number of two, or a string.
enum RuleArithmetic: String, Sendable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"

    /// The result for two numbers; division by zero has no number for one.
    func result(_ left: Double, _ right: Double) -> Double {
        switch self {
        case .add: left + right
        case .subtract: left - right
        case .multiply: left * right
        case .divide: right == 0 ? .nan : left / right
        case .remainder: left.truncatingRemainder(dividingBy: right)
        }
    }
}
