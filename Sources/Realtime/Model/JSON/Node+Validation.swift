extension Node {
    /// Throws `invalidArgument` unless the node may be written at a path: for invalid keys, for
    /// strings that are too long, and for paths that are too long or too deep.
    ///
    /// A node made of an application's JSON is valid already; this is for those of other clients.
    package func validate(at path: TreePath) throws(LarderError) {
        _ = try TreePath(validating: path.text, allowsPriority: true)
        guard !path.isPriority else {
            guard isEmpty || isLeaf && priority == .none && Priority(leafValue) != nil else {
                throw .invalidValue("a priority is null, a number or a string")
            }
            return
        }
        try validateContent(at: path)
    }

    private func validateContent(at path: TreePath) throws(LarderError) {
        for value in [leafValue, priority.leaf] {
            if case .string(let text)? = value, text.utf8.count > LeafValue.maximumStringBytes {
                throw .invalidValue("the string at \(path) is too long")
            }
        }
        for child in children {
            if let problem = ChildKey.problem(in: child.key.text) {
                throw .invalidPath("the key '\(child.key)' \(problem)")
            }
            let place = path.child(child.key)
            try place.checkLimits()
            try child.node.validateContent(at: place)
        }
    }
}
