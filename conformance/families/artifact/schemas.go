package artifact

import "encoding/json"

// The input schemas, as `tools/list` publishes them. What they say is judged by
// the tools themselves, whose messages say more.
var (
	validateSchema = json.RawMessage(`{"type":"object","required":["artifact_content","artifact_id","task_id"],"additionalProperties":false,"properties":{"artifact_content":{"type":"string"},"artifact_id":{"type":"string","pattern":"^[A-Z]+-\\d{3,}$"},"task_id":{"type":"string","minLength":1,"maxLength":128}}}`)
	storeSchema    = json.RawMessage(`{"type":"object","properties":{"artifact_content":{"type":"string","minLength":100},"task_id":{"type":"string","minLength":1,"maxLength":128}},"required":["artifact_content","task_id"],"additionalProperties":false}`)
	approveSchema  = json.RawMessage(`{"type":"object","properties":{"artifact_id":{"type":"string","pattern":"^[A-Z]+-\\d{3,}$"},"task_id":{"type":"string","minLength":1,"maxLength":128}},"required":["artifact_id","task_id"],"additionalProperties":false}`)
	addTaskSchema  = json.RawMessage(`{
  "type": "object",
  "required": [
    "tasks",
    "task_id"
  ],
  "additionalProperties": false,
  "properties": {
    "tasks": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "artifact_id": {
            "type": "string",
            "pattern": "^[A-Z]+-\\d{3,}$"
          },
          "generator": {
            "type": "string"
          },
          "task_id": {
            "type": "string",
            "minLength": 1,
            "maxLength": 128
          },
          "inputs": {
            "type": "array",
            "items": {
              "type": "object",
              "properties": {
                "name": {
                  "type": "string"
                },
                "classification": {
                  "type": "string",
                  "enum": [
                    "mandatory",
                    "recommended",
                    "conditional"
                  ]
                },
                "artifact_type": {
                  "type": "string"
                },
                "artifact_id": {
                  "type": "string"
                },
                "resource_path": {
                  "type": "string"
                },
                "mcp_resource_uri": {
                  "type": "string"
                },
                "resource_uri": {
                  "type": "string",
                  "description": "alias of mcp_resource_uri"
                },
                "status": {
                  "type": "string"
                }
              },
              "required": [
                "name",
                "classification",
                "artifact_type",
                "artifact_id",
                "resource_path",
                "status"
              ],
              "additionalProperties": false
            },
            "minItems": 1
          },
          "status": {
            "type": "string",
            "enum": [
              "pending",
              "in_progress",
              "completed"
            ],
            "default": "pending"
          },
          "description": {
            "type": "string"
          }
        },
        "required": [
          "artifact_id",
          "generator",
          "task_id",
          "inputs"
        ],
        "additionalProperties": false
      },
      "minItems": 1,
      "maxItems": 100
    },
    "task_id": {
      "type": "string",
      "minLength": 1,
      "maxLength": 128
    }
  }
}`)

	nextIDSchema  = json.RawMessage(`{"type":"object","required":["artifact_type","project_id","task_id"],"additionalProperties":false,"properties":{"artifact_type":{"type":"string","enum":["product_vision","initiative","epic","prd","hls","backlog_story","tech_spec","adr","spike","task"]},"project_id":{"type":"string","minLength":1,"maxLength":100},"task_id":{"type":"string","minLength":1,"maxLength":128}}}`)
	reserveSchema = json.RawMessage(`{"type":"object","required":["artifact_type","count","project_id","task_id"],"additionalProperties":false,"properties":{"artifact_type":{"type":"string","enum":["product_vision","initiative","epic","prd","hls","backlog_story","tech_spec","adr","spike","task"]},"count":{"type":"integer","minimum":1,"maximum":100},"project_id":{"type":"string","minLength":1,"maxLength":100},"task_id":{"type":"string","minLength":1,"maxLength":128}}}`)
	// Old clients send whatever they like.
	deprecatedSchema = json.RawMessage(`{"type":"object"}`)
)
