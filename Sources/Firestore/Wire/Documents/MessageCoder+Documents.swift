package import LarderModel
package import LarderRemote

extension MessageCoder {
    /// Encodes a document: its name, its fields or those of a mask, and its times if known.
    ///
    /// - Throws: `dataLoss` for a damaged record; `invalidArgument` for a pending server timestamp.
    package func encode(
        _ record: Record, at path: DocumentPath, mask: FieldMask? = nil,
        createTime: Timestamp? = nil, updateTime: SnapshotVersion = .none
    ) throws(LarderError) -> Google_Firestore_V1_Document {
        var message = Google_Firestore_V1_Document()
        message.name = encode(path)
        message.fields = try encode(record, mask: mask)
        if let createTime { message.createTime = .init(createTime) }
        if !updateTime.isNone { message.updateTime = .init(updateTime) }
        return message
    }

    /// Encodes a stored document; nil if it does not exist.
    ///
    /// - Throws: as ``encode(_:at:mask:createTime:updateTime:)``.
    package func encode(_ document: Document, mask: FieldMask? = nil)
        throws(LarderError) -> Google_Firestore_V1_Document?
    {
        guard let record = document.record else { return nil }
        return try encode(
            record, at: document.path, mask: mask, createTime: document.createTime,
            updateTime: document.version)
    }

    /// Decodes the path and fields of a document in a request; its times are ignored.
    ///
    /// - Throws: `invalidArgument` for invalid data.
    package func decode(_ document: Google_Firestore_V1_Document)
        throws(LarderError) -> (path: DocumentPath, record: Record)
    {
        (try decode(documentName: document.name), try decode(document.fields))
    }

    /// Decodes a document in a response.
    ///
    /// - Throws: `internal` for invalid data or a missing update time.
    package func decode(found document: Google_Firestore_V1_Document)
        throws(LarderError) -> DocumentReading
    {
        try answer { () throws(LarderError) in
            let (path, record) = try decode(document)
            guard document.hasUpdateTime else {
                throw .invalidArgument("'\(path)' has no update time")
            }
            let createTime =
                document.hasCreateTime ? try Timestamp(document.createTime) : nil
            return DocumentReading(
                path: path, contents: .found(record, createTime: createTime),
                version: try SnapshotVersion(document.updateTime))
        }
    }

    /// Encodes a request for the current state of documents.
    package func encode(reading paths: [DocumentPath])
        -> Google_Firestore_V1_BatchGetDocumentsRequest
    {
        var message = Google_Firestore_V1_BatchGetDocumentsRequest()
        message.database = "\(database)"
        message.documents = paths.map(encode)
        return message
    }

    /// Decodes the requested documents, in order.
    ///
    /// - Throws: `invalidArgument` for a name outside the database or not of a document.
    package func decode(_ request: Google_Firestore_V1_BatchGetDocumentsRequest)
        throws(LarderError) -> [DocumentPath]
    {
        try check(database: request.database)
        return try request.documents.map(decode(documentName:))
    }

    /// Decodes the reading in a response; nil if the response only begins a transaction.
    ///
    /// - Throws: `internal` for invalid data.
    package func decode(_ response: Google_Firestore_V1_BatchGetDocumentsResponse)
        throws(LarderError) -> DocumentReading?
    {
        switch response.result {
        case nil: return nil
        case .found(let document): return try decode(found: document)
        case .missing(let name):
            return try answer { () throws(LarderError) in
                DocumentReading(
                    path: try decode(documentName: name), contents: .absent,
                    version: try SnapshotVersion(response.readTime))
            }
        }
    }
}
