// The tools of the bakery, as the client sees them.
const object = (properties, required = []) => ({ type: 'object', properties, required, additionalProperties: false });

export const TOOLS = [
  {
    name: 'search_breads', title: 'Search breads', description: 'Breads whose name contains a word',
    inputSchema: object({ query: { type: 'string' }, limit: { type: 'integer', minimum: 1, maximum: 50 } }),
    outputSchema: {
      type: 'object', required: ['breads'],
      properties: {
        breads: {
          type: 'array',
          items: {
            type: 'object', required: ['id', 'name', 'price'],
            properties: { id: { type: 'string' }, name: { type: 'string' }, price: { type: 'number' } },
          },
        },
      },
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'bread_details', title: 'Details of a bread', description: 'Price, allergens and rating of a bread',
    inputSchema: object({
      id: { type: 'string', description: 'Number of the bread, for example b1' },
      size: { type: 'string', enum: ['small', 'regular', 'family'], default: 'regular' },
    }, ['id']),
    outputSchema: {
      type: 'object', required: ['id', 'name', 'size', 'price', 'allergens', 'rating'],
      properties: {
        id: { type: 'string' }, name: { type: 'string' }, size: { type: 'string', enum: ['small', 'regular', 'family'] },
        price: { type: 'number', minimum: 0 }, allergens: { type: 'array', items: { type: 'string' } },
        rating: {
          type: 'object', required: ['count', 'average'],
          properties: { count: { type: 'integer', minimum: 0 }, average: { type: 'number', minimum: 0, maximum: 5 } },
        },
      },
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'bake', title: 'Bake', description: 'Bakes trays of a bread, four loaves a tray',
    inputSchema: object({ bread: { type: 'string' }, trays: { type: 'integer', minimum: 1, maximum: 12, default: 1 } }, ['bread']),
  },
  {
    name: 'order_cake', title: 'Order a cake', description: 'Orders a cake, asks for the day of collection',
    inputSchema: object({
      kind: { type: 'string', enum: ['cherry', 'nut', 'chocolate'] },
      servings: { type: 'integer', minimum: 4, maximum: 60 },
    }, ['kind', 'servings']),
    outputSchema: {
      type: 'object', required: ['order', 'kind', 'servings', 'collect'],
      properties: {
        order: { type: 'string' }, kind: { type: 'string' }, servings: { type: 'integer' },
        collect: { type: 'string', description: 'Day of collection or "open"' },
      },
    },
  },
  {
    name: 'write_slogan', title: 'Write a slogan', description: 'Lets the model of the client write a line of advertising',
    inputSchema: object({ topic: { type: 'string', minLength: 1 } }, ['topic']),
  },
  {
    name: 'restock', title: 'Restock', description: 'Books a delivery of an ingredient',
    inputSchema: object({
      ingredient: { type: 'string', enum: ['flour', 'rye', 'butter', 'yeast', 'sea salt'] },
      kg: { type: 'number', exclusiveMinimum: 0, maximum: 500 },
    }, ['ingredient', 'kg']),
    outputSchema: {
      type: 'object', required: ['ingredient', 'kg'],
      properties: { ingredient: { type: 'string' }, kg: { type: 'number', minimum: 0 } },
    },
  },
  {
    name: 'print_label', title: 'Print a label', description: 'Picture of the label of a bread',
    inputSchema: object({ bread: { type: 'string' }, copies: { type: 'integer', minimum: 1, maximum: 100, default: 1 } }, ['bread']),
  },
];
