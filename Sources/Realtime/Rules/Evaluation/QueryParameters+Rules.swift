import LarderRealtimeModel

extension QueryParameters {
    /// True if a rule sees the query as one of an order; a plain location is seen as ordered by key.
    func hasOrder(_ order: RuleCondition.QueryOrder) -> Bool {
        switch order {
        case .orderByKey: index == .key || isDefault
        case .orderByPriority: index == .priority && !isDefault
        case .orderByValue: index == .value
        }
    }

    /// A parameter as a rule sees it; null where the query has none.
    func value(of field: RuleOperand.QueryField) -> RuleValue {
        switch field {
        case .orderByChild:
            if case .child(let path) = index { .string(path.text) } else { .null }
        case .startAt: RuleValue(start)
        case .endAt: RuleValue(end)
        case .equalTo:
            if let start, start == end, start.isInclusive { RuleValue(start) } else { .null }
        case .limitToFirst: limit(.first)
        case .limitToLast: limit(.last)
        }
    }

    private func limit(_ anchor: Limit.Anchor) -> RuleValue {
        guard let limit, limit.anchor == anchor else { return .null }
        return .number(Double(limit.count))
    }
}

extension RuleValue {
    fileprivate init(_ bound: QueryParameters.Bound?) {
        switch bound?.value {
        case .leaf(.boolean(let flag))?: self = .boolean(flag)
        case .leaf(.number(let number))?: self = .number(number.double)
        case .leaf(.string(let text))?: self = .string(text)
        case .leaf(.deferred)?, .null?, .children?, .maximum?, nil: self = .null
        }
    }
}
