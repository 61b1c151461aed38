package import LarderModel
package import LarderRemote

extension MessageCoder {
    /// The message of a document: its name, its fields or those of a mask, and its times where they
    /// are known.
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

    /// The message of a document of a store, which a document that does not exist has not.
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

    /// The path and the fields of a document in a request; its times do not count.
    ///
    /// - Throws: `invalidArgument` for what breaks a bound.
    package func decode(_ document: Google_Firestore_V1_Document)
        throws(LarderError) -> (path: DocumentPath, record: Record)
    {
        (try decode(documentName: document.name), try decode(document.fields))
    }

    /// What a backend says of a document that it found.
    ///
    /// - Throws: `internal` for what breaks a bound, and without a time of the last change.
    package func decode(found document: Google_Firestore_V1_Document)
        throws(LarderError) -> DocumentReading
    {
        try answer { () throws(LarderError) in
            let (path, record) = try decode(document)
            guard document.hasUpdateTime else {
                throw .invalidArgument("'\(path)' has no time of its last change")
            }
            let createTime =
                document.hasCreateTime ? try Timestamp(document.createTime) : nil
            return DocumentReading(
                path: path, contents: .found(record, createTime: createTime),
                version: try SnapshotVersion(document.updateTime))
        }
    }

    /// A request for documents, as of now.
    package func encode(reading paths: [DocumentPath])
        -> Google_Firestore_V1_BatchGetDocumentsRequest
    {
        var message = Google_Firestore_V1_BatchGetDocumentsRequest()
        message.database = "\(database)"
        message.documents = paths.map(encode)
        return message
    }

    /// The documents that a request asks for, in order.
    ///
    /// - Throws: `invalidArgument` for what is no name of a document of the database.
    package func decode(_ request: Google_Firestore_V1_BatchGetDocumentsRequest)
        throws(LarderError) -> [DocumentPath]
    {
        try check(database: request.database)
        var paths: [DocumentPath] = []
        paths.reserveCapacity(request.documents.count)
        for name in request.documents { paths.append(try decode(documentName: name)) }
        return paths
    }

    /// What an answer says of a document; nil where it only opens a transaction.
    ///
    /// - Throws: `internal` for what breaks a bound.
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
