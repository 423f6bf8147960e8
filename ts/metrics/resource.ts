// What a node says of itself with its metrics and spans: the attributes of a service.
import { detectResources, envDetector, type Resource, resourceFromAttributes } from '@opentelemetry/resources'

/** Name of the service, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES has another one. */
const SERVICE_NAME = 'hearth'

/** The attributes service.name and service.version, and those of the environment. */
export const resourceOf = (version: string): Resource =>
  resourceFromAttributes({ 'service.name': SERVICE_NAME, 'service.version': version }).merge(detectResources({ detectors: [envDetector] }))
