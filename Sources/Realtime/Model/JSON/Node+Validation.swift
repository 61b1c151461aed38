extension Node {
    /// Throws `invalidArgument` unless the node may be written at a path: for invalid keys, for
    /// strings that are too long, and for paths that are too long or too deep.
    ///
    /// A node made of an application's JSON is valid already; this is for those of other clients.
    package func validate(at path: TreePath) throws(LarderError) {
        try path.validate(allowsPriority: true)
        guard path.isPriority else {
            return try validate(depth: path.count, bytes: path.text.utf8.count)
        }
        guard isEmpty || isLeaf && priority == .none && Priority(leafValue) != nil else {
            throw .invalidValue("a priority is null, a number or a string")
        }
    }

    private func validate(depth: Int, bytes: Int) throws(LarderError) {
        for value in [leafValue, priority.leaf] {
            if case .string(let text)? = value, text.utf8.count > LeafValue.maximumStringBytes {
                throw .invalidValue("a string has \(text.utf8.count) bytes, which is too long")
            }
        }
        for child in children {
            if let problem = ChildKey.problem(in: child.key.text) {
                throw .invalidPath("the key '\(child.key)' \(problem)")
            }
            let size = bytes + (depth > 0 ? 1 : 0) + child.key.text.utf8.count
            guard depth < TreePath.maximumDepth, size <= TreePath.maximumBytes else {
                throw .invalidPath("a path of the data is too long or too deep")
            }
            try child.node.validate(depth: depth + 1, bytes: size)
        }
    }
}
