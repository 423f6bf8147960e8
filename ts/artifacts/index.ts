// Compiler artifacts of folders on disk, for the explorer and for `hearth trace`.
export { ArtifactFolders, type Identified, type IdentifyRequest } from './folders.ts'
