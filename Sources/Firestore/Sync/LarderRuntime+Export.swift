// Modules that import the engine see the runtime that it is built on.
@_exported public import LarderRuntime
