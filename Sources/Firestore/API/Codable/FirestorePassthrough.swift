internal import LarderModel

/// A type that stands in data as it is: coders do not look into it.
protocol FirestorePassthrough {}

extension Timestamp: FirestorePassthrough {}
extension GeoPoint: FirestorePassthrough {}
extension VectorValue: FirestorePassthrough {}
extension FieldValue: FirestorePassthrough {}

/// A property that is filled from outside the data and never goes into it: `@DocumentID`.
protocol OutsideTheData {}

/// A dictionary whose keys are data, which key strategies leave alone.
protocol StringKeyedDictionary {}

extension Dictionary: StringKeyedDictionary where Key == String {}
