@_exported public import class LarderApp.FirebaseApp
@_exported public import class LarderApp.FirebaseOptions
@_exported public import struct LarderModel.GeoPoint
@_exported public import class LarderModel.LarderError
@_exported public import struct LarderModel.Timestamp
@_exported public import struct LarderModel.VectorValue
@_exported public import struct LarderRemote.RemoteConnection
@_exported public import struct LarderRemote.RemoteConnector
