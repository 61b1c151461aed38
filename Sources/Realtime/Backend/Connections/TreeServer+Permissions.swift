import LarderRealtimeModel
import LarderRealtimeRules

extension TreeServer {
    /// True if a user may read a query now.
    func mayRead(_ query: QuerySpec, _ user: RealtimeUser?) -> Bool {
        if user?.isAdministrator == true { return true }
        let time = now
        if let rules = securityRules,
            !rules.allowsRead(of: query, in: tree, context(of: user, at: time))
        {
            return false
        }
        let request = RealtimeBackend.Request(
            operation: .read, user: user, location: query.path,
            parameters: query.parameters, tree: tree, result: tree, milliseconds: time)
        return settings.rules(request) == .allow
    }

    /// True if a user may apply a write: at each of its locations, with the result of all.
    ///
    /// - Parameter result: the tree after the write.
    func mayWrite(
        _ write: TreeWrite, _ user: RealtimeUser?, at time: Int64, _ result: Node
    ) -> Bool {
        if user?.isAdministrator == true { return true }
        let (securityRules, rules) = (self.securityRules, settings.rules)
        let context = self.context(of: user, at: time)
        return write.values.allSatisfy { value in
            let path = write.path.appending(value.path)
            if let securityRules,
                !securityRules.allowsWrite(at: path, from: tree, to: result, context)
            {
                return false
            }
            let request = RealtimeBackend.Request(
                operation: .write, user: user, location: path, parameters: .default,
                tree: tree, result: result, milliseconds: time)
            return rules(request) == .allow
        }
    }

    private func context(of user: RealtimeUser?, at time: Int64) -> RulesContext {
        RulesContext(auth: user?.authentication, milliseconds: time)
    }
}
