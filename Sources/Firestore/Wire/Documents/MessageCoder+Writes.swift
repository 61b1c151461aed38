package import LarderModel

extension MessageCoder {
    /// Encodes a mutation.
    ///
    /// - Throws: `invalidArgument` for a pending server timestamp among its fields; `dataLoss` for
    ///   a damaged record.
    package func encode(_ mutation: Mutation) throws(LarderError) -> Google_Firestore_V1_Write {
        var message = Google_Firestore_V1_Write()
        switch mutation.operation {
        case .set(let record):
            message.update = try encode(record, at: mutation.path)
        case .patch(let record, let mask):
            // Fields outside the mask have no effect.
            message.update = try encode(record, at: mutation.path, mask: mask)
            message.updateMask = encode(mask)
        case .delete: message.delete = encode(mutation.path)
        case .verify: message.verify = encode(mutation.path)
        }
        if let precondition = encode(mutation.precondition) {
            message.currentDocument = precondition
        }
        message.updateTransforms = try mutation.transforms.map(encode)
        return message
    }

    /// Decodes a mutation.
    ///
    /// - Throws: `invalidArgument` for a write without an operation, a misplaced mask or transform,
    ///   or invalid data.
    package func decode(_ write: Google_Firestore_V1_Write) throws(LarderError) -> Mutation {
        let precondition = try decode(write.currentDocument)
        if case .update(let document)? = write.operation {
            let (path, record) = try decode(document)
            return Mutation(
                write.hasUpdateMask ? .patch(record, try decode(write.updateMask)) : .set(record),
                at: path, precondition: precondition,
                transforms: try decode(write.updateTransforms))
        }
        guard !write.hasUpdateMask, write.updateTransforms.isEmpty else {
            throw .invalidArgument("only an update may have a mask or transforms")
        }
        switch write.operation {
        case nil, .update: throw .invalidArgument("a write has no operation")
        case .delete(let name):
            return Mutation(
                .delete, at: try decode(documentName: name), precondition: precondition)
        case .verify(let name):
            return Mutation(
                .verify, at: try decode(documentName: name), precondition: precondition)
        case .transform(let transform):
            return Mutation(
                .patch(try decode([]), FieldMask([])),
                at: try decode(documentName: transform.document), precondition: precondition,
                transforms: try decode(transform.fieldTransforms))
        }
    }

    /// Encodes mutations.
    ///
    /// - Throws: as ``encode(_:)-(Mutation)``.
    package func encode(_ mutations: [Mutation])
        throws(LarderError) -> [Google_Firestore_V1_Write]
    {
        try mutations.map(encode)
    }

    /// Decodes mutations.
    ///
    /// - Throws: as ``decode(_:)-(Google_Firestore_V1_Write)``.
    package func decode(_ writes: [Google_Firestore_V1_Write]) throws(LarderError) -> [Mutation] {
        try writes.map(decode)
    }

    private func encode(_ transform: FieldTransform)
        throws(LarderError) -> Google_Firestore_V1_DocumentTransform.FieldTransform
    {
        var message = Google_Firestore_V1_DocumentTransform.FieldTransform()
        message.fieldPath = transform.path.canonicalString
        switch transform.operation {
        case .serverTimestamp: message.setToServerValue = .requestTime
        case .arrayUnion(let values): message.appendMissingElements.values = try encode(values)
        case .arrayRemove(let values): message.removeAllFromArray.values = try encode(values)
        case .increment(let operand): message.increment = try encode(operand)
        case .minimum(let operand): message.minimum = try encode(operand)
        case .maximum(let operand): message.maximum = try encode(operand)
        }
        return message
    }

    private func decode(_ messages: [Google_Firestore_V1_DocumentTransform.FieldTransform])
        throws(LarderError) -> [FieldTransform]
    {
        try messages.map { message throws(LarderError) in
            FieldTransform(try decode(fieldPath: message.fieldPath), try operation(of: message))
        }
    }

    private func operation(
        of message: Google_Firestore_V1_DocumentTransform.FieldTransform
    ) throws(LarderError) -> FieldTransform.Operation {
        switch message.transformType {
        case nil: throw .invalidArgument("the transform of '\(message.fieldPath)' has no operation")
        case .setToServerValue(.requestTime): return .serverTimestamp
        case .setToServerValue:
            throw .invalidArgument(
                "the transform of '\(message.fieldPath)' has an unknown server value")
        case .appendMissingElements(let array): return .arrayUnion(try decode(array.values))
        case .removeAllFromArray(let array): return .arrayRemove(try decode(array.values))
        case .increment(let operand): return .increment(try number(operand))
        case .minimum(let operand): return .minimum(try number(operand))
        case .maximum(let operand): return .maximum(try number(operand))
        }
    }

    private func number(_ operand: Google_Firestore_V1_Value) throws(LarderError) -> Value {
        switch operand.valueType {
        case .integerValue(let integer): return .integer(integer)
        case .doubleValue(let number): return .double(number)
        default: throw .invalidArgument("the operand of a transform is not a number")
        }
    }
}
