import CLarder

extension Record {
    /// Throws unless a store with these limits takes the record.
    ///
    /// Linear in the number of bytes.
    ///
    /// - Parameters:
    ///   - maxDepth: how deep maps and arrays may be nested.
    ///   - maxBytes: what the fields may count towards the document size limit.
    /// - Throws: `invalidArgument`, with the condition `tooDeep` or `tooLarge`.
    package func checkLimits(maxDepth: Int, maxBytes: Int64) throws(LarderError) {
        var failure = larder_error()
        let status = try withEncodedBytes { bytes in
            var record = larder_record()
            return larder_record_open(
                larder_bytes(bytes), UInt32(clamping: maxDepth), maxBytes, &record, &failure)
        }
        try throwIfFailed(status, failure)
    }
}
