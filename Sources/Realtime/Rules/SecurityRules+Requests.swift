package import LarderRealtimeModel

extension SecurityRules {
    /// True if a query may be read: a `.read` rule at its location or above holds; a priority is
    /// read with its node.
    package func allowsRead(
        of query: QuerySpec, in tree: Node, _ context: RulesContext
    ) -> Bool {
        var evaluator = RuleEvaluator(
            context, before: tree, after: tree, query.parameters, maximumSteps: maximumSteps)
        var rules: RuleTree? = root
        let path = query.path.isPriority ? query.path.dropLast() : query.path
        var keys = path.makeIterator()
        while let place = rules {
            if let rule = place.read, evaluator.holds(rule) { return true }
            guard let key = keys.next() else { return false }
            rules = place.child(key)
            evaluator.descend(to: key)
        }
        return false
    }

    /// True if a location may be written: a `.write` rule there or above holds, and all `.validate`
    /// rules on the way to it and below it whose data is not removed.
    ///
    /// A write of several locations is allowed if each of them is; `result` is the tree after the
    /// whole write for all.
    ///
    /// - Parameters:
    ///   - tree: the tree before the write.
    ///   - result: the tree after the write.
    ///
    /// Complexity: linear in the data below the location that is validated, nothing else.
    package func allowsWrite(
        at path: TreePath, from tree: Node, to result: Node, _ context: RulesContext
    ) -> Bool {
        let path = path.isPriority ? path.dropLast() : path
        var evaluator = RuleEvaluator(
            context, before: tree, after: result, maximumSteps: maximumSteps)
        var isGranted = false
        var validations: [(level: Int, rule: RuleCondition)] = []
        var rules: RuleTree? = root
        var keys = path.makeIterator()
        while let place = rules {
            if !isGranted, let rule = place.write { isGranted = evaluator.holds(rule) }
            if let rule = place.validate { validations.append((evaluator.level, rule)) }
            guard let key = keys.next() else { break }
            rules = place.child(key)
            if rules != nil { evaluator.descend(to: key) }
        }
        guard isGranted else { return false }
        if let rules, !Self.isDataValid(below: rules, &evaluator) { return false }
        for (level, rule) in validations.reversed() {
            evaluator.ascend(to: level)
            if !evaluator.newData().isEmpty, !evaluator.holds(rule) { return false }
        }
        return true
    }

    /// True if the rules below a place hold for its children.
    private static func isDataValid(below rules: RuleTree, _ evaluator: inout RuleEvaluator) -> Bool
    {
        guard rules.hasValidation else { return true }
        let node = evaluator.newData()
        if rules.wildcard?.hasValidation == true {
            return node.children.allSatisfy { isValid($0.key, rules, &evaluator) }
        }
        return rules.validatedKeys.allSatisfy { isValid($0, rules, &evaluator) }
    }

    private static func isValid(
        _ key: ChildKey, _ rules: RuleTree, _ evaluator: inout RuleEvaluator
    ) -> Bool {
        guard let child = rules.child(key), child.hasValidation else { return true }
        evaluator.descend(to: key)
        defer { evaluator.ascend(to: evaluator.level - 1) }
        guard !evaluator.newData().isEmpty else { return true }
        if let rule = child.validate, !evaluator.holds(rule) { return false }
        return isDataValid(below: child, &evaluator)
    }

    /// The index that `.indexOn` at a query's location lacks, as it would be named there; nil if it
    /// has it, or the query needs none.
    package func missingIndex(of query: QuerySpec) -> String? {
        let name: String
        switch query.parameters.index {
        case .key, .priority: return nil
        case .value: name = ".value"
        case .child(let path): name = path.text
        }
        var place: RuleTree? = root
        for key in query.path { place = place?.child(key) }
        return place?.indexes.contains(query.parameters.index) == true ? nil : name
    }
}
