@_exported public import class LarderApp.FirebaseApp
@_exported public import class LarderApp.FirebaseOptions
@_exported public import class LarderCore.LarderError
@_exported public import struct LarderCore.Timestamp
@_exported public import struct LarderRealtimeRemote.RealtimeRemoteConnection
@_exported public import struct LarderRealtimeRemote.RealtimeRemoteConnector
@_exported public import struct LarderRuntime.SnapshotSequence
