@_exported import Foundation
import LarderRealtime

/// The encoder of plain data that Apple's products share.
public typealias FirebaseDataEncoder = Database.Encoder

/// The decoder of plain data that Apple's products share.
public typealias FirebaseDataDecoder = Database.Decoder
