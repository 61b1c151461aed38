import LarderBackend
import LarderModel
import LarderRemote
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    /// A document, or the fields of a mask.
    ///
    /// - Throws: `notFound` for a missing document.
    func getDocument(_ request: Google_Firestore_V1_GetDocumentRequest)
        -> InlineRead<[Response<Google_Firestore_V1_Document>]>?
    {
        let consistency = ConsistencySelector(request.consistencySelector)
        return InlineRead(
            of: request.name, consistency,
            { (coder) throws(LarderError) in
                ReadTargets(paths: [try coder.decode(documentName: request.name)])
            }
        ) { (database, coder, time) throws(LarderError) in
            let path = try coder.decode(documentName: request.name)
            let mask = request.hasMask ? try coder.decode(request.mask) : nil
            let readings = try database.backend.documents(
                at: [path], as: database.credentials, in: time.transaction, asOf: time.asOf
            ).readings
            guard let reading = readings.first,
                let answer = try coder.encode(found: reading, mask: mask)
            else { throw LarderError(.notFound, "Document \"\(request.name)\" not found.") }
            return [answer]
        }
    }

    /// Creates a document with the given ID or a generated one.
    ///
    /// - Throws: `alreadyExists` for an existing document.
    func createDocument(_ request: Google_Firestore_V1_CreateDocumentRequest)
        async throws(LarderError) -> Google_Firestore_V1_Document
    {
        try await write(request.parent, mask: request.hasMask ? request.mask : nil) {
            (coder) throws(LarderError) in
            guard !request.collectionID.isEmpty else {
                throw LarderError(.invalidArgument, "the request has no collection ID")
            }
            let parent = try coder.decode(parent: request.parent)
            let collection =
                if let parent {
                    try parent.collection(request.collectionID)
                } else {
                    try CollectionPath(request.collectionID)
                }
            let path =
                request.documentID.isEmpty
                ? try collection.newDocument() : try collection.document(request.documentID)
            return Mutation(
                .set(try coder.decode(request.document.fields)), at: path,
                precondition: .exists(false))
        }
    }

    /// Sets a document, or the fields of the update mask.
    func updateDocument(_ request: Google_Firestore_V1_UpdateDocumentRequest)
        async throws(LarderError) -> Google_Firestore_V1_Document
    {
        try await write(request.document.name, mask: request.hasMask ? request.mask : nil) {
            (coder) throws(LarderError) in
            let (path, record) = try coder.decode(request.document)
            return Mutation(
                request.hasUpdateMask
                    ? .patch(record, try coder.decode(request.updateMask)) : .set(record),
                at: path, precondition: try coder.decode(request.currentDocument))
        }
    }

    /// Deletes a document; a missing one is no error without a precondition.
    func deleteDocument(_ request: Google_Firestore_V1_DeleteDocumentRequest)
        async throws(LarderError) -> Google_Protobuf_Empty
    {
        let database = try await database(request.name)
        let coder = database.coder()
        let mutation = Mutation(
            .delete, at: try coder.decode(documentName: request.name),
            precondition: try coder.decode(request.currentDocument))
        _ = try await database.commit([mutation])
        return Google_Protobuf_Empty()
    }

    /// Commits one write and returns the resulting document.
    private func write(
        _ resource: String, mask: Google_Firestore_V1_DocumentMask?,
        _ mutation: (MessageCoder) throws(LarderError) -> Mutation
    ) async throws(LarderError) -> Google_Firestore_V1_Document {
        let database = try await database(resource)
        let coder = database.coder()
        let fields: FieldMask? = if let mask { try coder.decode(mask) } else { nil }
        let change = try mutation(coder)
        let document = try await database.write(change)
        guard let message = try database.coder().encode(document, mask: fields) else {
            throw LarderError(.internal, "the document '\(change.path)' was not written")
        }
        return message
    }
}
