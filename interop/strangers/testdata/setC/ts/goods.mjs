// What the bakery sells, and its pictures.
import zlib from 'node:zlib';

export const BREADS = [
  { id: 'b1', name: 'Sourdough', prices: { small: 3.2, regular: 5.4 }, allergens: [], ratings: [5, 4, 5] },
  { id: 'b2', name: 'Olive bread', prices: { small: 3.6, regular: 6.1 }, allergens: [], ratings: [4, 4] },
  { id: 'b3', name: 'Walnut bread', prices: { small: 3.9, regular: 6.6, family: 15 }, allergens: ['nuts'], ratings: [5] },
  { id: 'b4', name: 'Käsestange', prices: { small: 1.8, regular: 2.4 }, allergens: ['milk'], ratings: [3, 4, 4, 5] },
  { id: 'b5', name: 'Rye loaf', prices: { small: 2.9, regular: 4.9 }, allergens: [], ratings: [] },
  { id: 'b6', name: 'Brioche', prices: { small: 2.2, regular: 4.2 }, allergens: ['milk', 'egg'], ratings: [5, 5] },
];

export const RECIPES = {
  sourdough: 'Flour, water, salt, starter. Rest 18 hours. Bake at 240 °C.\n',
  'olive bread': 'Flour, water, olives, thyme. Rest 3 hours. Bake at 220 °C.\n',
  'walnut bread': 'Flour, rye, walnuts, honey. Rest 4 hours. Bake at 210 °C.\n',
  Käsestange: 'Dough of the day, grated cheese, caraway. Bake at 200 °C.\n',
  'rye loaf': 'Rye, starter, salt. Rest 12 hours.\n',
  brioche: 'Flour, butter, eggs, yeast, sugar. Rest one night.\n',
};

export const STOCK = { flour: 250, rye: 80, butter: 24, yeast: 3, 'sea salt': 12 };

function png(width, height, pixel) {
  const raw = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) raw[y * (width + 1) + 1 + x] = pixel(x, y) & 255;
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc(body), body.length + 4);
    return out;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8; // bits per pixel, grey
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk('IHDR', head), chunk('IDAT', zlib.deflateSync(raw)), chunk('IEND', Buffer.alloc(0)),
  ]);
}

function crc(bytes) {
  let c = ~0;
  for (const b of bytes) {
    c ^= b;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  }
  return ~c >>> 0;
}

export const photoPng = () => png(40, 30, (x, y) => x * 7 + y * y * 3);
export const labelPng = (copies) => png(32, 16, (x, y) => (x * y + copies * 5));
