extension TemporaryFile {
    /// Reads nodes of a file with JSON, of which a part is in memory at a time.
    ///
    /// - Parameter read: called with the text, and with what takes note of the offsets that reading
    ///   does not return to. Called once more, with the whole text in memory, if a value is larger
    ///   than that part.
    /// - Throws: what has ended the reading; `unavailable` if the file cannot be read, or there is no
    ///   memory for it.
    package func readNodes<R>(
        _ read: (UnsafeRawBufferPointer, @escaping TextProgress) throws(NodeTextError) -> R
    ) throws(LarderError) -> Result<R, NodeTextError> {
        try withText { (text) throws(LarderError) in
            var result = Result { () throws(NodeTextError) in try read(text.bytes, text.passed) }
            if case .failure(.text(let error)) = result,
                try text.readAll(ifNeededAt: error.offset)
            {
                result = Result { () throws(NodeTextError) in try read(text.bytes, text.passed) }
            }
            if case .failure(.stopped(let error)) = result { throw error }
            return result
        }
    }
}
